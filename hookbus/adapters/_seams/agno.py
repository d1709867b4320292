"""Agno: a `FunctionCall`."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from ._frame import NAME, Pay, Sample, functions_of

SEAMS: Final = """
agno.agent._hooks:aexecute_post_hooks(agent, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:aexecute_pre_hooks(agent, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:execute_post_hooks(agent, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.agent._hooks:execute_pre_hooks(agent, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.agent.agent:Agent.__init__(self, *, model, fallback_config, fallback_models, name, id,
    user_id, session_id, session_state, add_session_state_to_context, overwrite_db_session_state,
    enable_agentic_state, cache_session, search_past_sessions, num_past_sessions_to_search,
    num_past_session_runs_in_search, dependencies, add_dependencies_to_context, db, filesystem,
    checkpoint, memory_manager, enable_agentic_memory, update_memory_on_run,
    add_memories_to_context, enable_session_summaries, add_session_summary_to_context,
    session_summary_manager, compaction, compress_tool_results, compression_manager,
    offload_tool_results, add_history_to_context, num_history_runs, num_history_messages,
    max_tool_calls_from_history, store_media, media_storage, store_tool_messages,
    store_history_messages, knowledge, knowledge_filters, enable_agentic_knowledge_filters,
    add_knowledge_to_context, knowledge_retriever, references_format, skills, metadata, tools,
    tool_call_limit, tool_choice, tool_hooks, pre_hooks, post_hooks, reasoning_model,
    reasoning_agent, read_chat_history, search_knowledge, add_search_knowledge_instructions,
    update_knowledge, read_tool_call_history, send_media_to_model, system_message,
    system_message_role, introduction, build_context, description, instructions,
    use_instruction_tags, expected_output, additional_context, markdown, add_name_to_context,
    add_datetime_to_context, add_location_to_context, datetime_format, timezone_identifier,
    resolve_in_context, learning, add_learnings_to_context, additional_input, user_message_role,
    build_user_context, retries, delay_between_retries, exponential_backoff, parser_model,
    parser_model_prompt, input_schema, output_schema, parse_response, output_model,
    output_model_prompt, structured_outputs, use_json_mode, save_response_to_file, followups,
    num_followups, followup_model, stream, stream_events, store_events, events_to_skip, role,
    debug_mode, debug_level, telemetry, cache_callables, callable_tools_cache_key,
    callable_knowledge_cache_key, sandbox)
agno.agent.agent:Agent.initialize_agent(self, debug_mode)
agno.team._hooks:_aexecute_post_hooks(team, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_aexecute_pre_hooks(team, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_execute_post_hooks(team, hooks, run_output, session, run_context, user_id,
    debug_mode, stream_events, background_tasks, **kwargs)
agno.team._hooks:_execute_pre_hooks(team, hooks, run_response, run_input, session, run_context,
    user_id, debug_mode, stream_events, background_tasks, **kwargs)
agno.team.team:Team.__init__(self, members, *, id, model, fallback_config, fallback_models, name,
    role, mode, respond_directly, determine_input_for_members, delegate_to_all_members,
    max_iterations, user_id, session_id, session_state, add_session_state_to_context,
    enable_agentic_state, overwrite_db_session_state, resolve_in_context, cache_session,
    add_team_history_to_members, num_team_history_runs, search_past_sessions,
    num_past_sessions_to_search, num_past_session_runs_in_search, description, instructions,
    use_instruction_tags, expected_output, additional_context, markdown, add_datetime_to_context,
    add_location_to_context, datetime_format, timezone_identifier, add_name_to_context,
    add_member_tools_to_context, system_message, system_message_role, introduction,
    additional_input, dependencies, add_dependencies_to_context, knowledge, knowledge_filters,
    add_knowledge_to_context, enable_agentic_knowledge_filters, update_knowledge,
    knowledge_retriever, references_format, share_member_interactions,
    get_member_information_tool, search_knowledge, add_search_knowledge_instructions,
    read_chat_history, store_media, media_storage, store_tool_messages, store_history_messages,
    send_media_to_model, add_history_to_context, num_history_runs, num_history_messages,
    max_tool_calls_from_history, skills, tools, tool_call_limit, tool_choice, tool_hooks,
    pre_hooks, post_hooks, input_schema, output_schema, parser_model, parser_model_prompt,
    output_model, output_model_prompt, use_json_mode, parse_response, db, checkpoint,
    enable_agentic_memory, update_memory_on_run, add_memories_to_context, memory_manager,
    enable_session_summaries, session_summary_manager, add_session_summary_to_context, learning,
    add_learnings_to_context, compress_tool_results, compression_manager, offload_tool_results,
    metadata, reasoning_model, reasoning_agent, followups, num_followups, followup_model, stream,
    stream_events, store_events, events_to_skip, store_member_responses, stream_member_events,
    debug_mode, debug_level, show_members_responses, retries, delay_between_retries,
    exponential_backoff, telemetry, cache_callables, callable_tools_cache_key,
    callable_knowledge_cache_key, callable_members_cache_key)
agno.team.team:Team.initialize_team(self, debug_mode)
agno.tools.function:FunctionCall._execute(self)
async agno.models.base:Model.arun_function_call(self, function_call)
async agno.tools.function:FunctionCall._aexecute(self)
"""


def sample(pay: Pay) -> Sample:
    """Make a function that is called, plain and awaited."""
    functions = import_module("agno.tools.function")
    plain, awaited = functions_of(pay)

    def call_of(function: Any, amount: int, to: str) -> Any:
        tool = functions.Function(name=NAME, entrypoint=function)
        return functions.FunctionCall(function=tool, arguments={"amount": amount, "to": to})

    def execute(amount: int, to: str) -> Any:
        return call_of(plain, amount, to).execute()

    async def aexecute(amount: int, to: str) -> Any:
        return await call_of(awaited, amount, to).aexecute()

    def refused(given: Any) -> str:
        return str(given.error) if given.status == "failure" else ""

    ways = {"FunctionCall.execute": execute, "FunctionCall.aexecute": aexecute}
    return Sample(ways, refused, awaits=False)

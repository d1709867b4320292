"""The Agent Control Specification and the Agent Governance Toolkit, as `engines` has the others."""

from engines import Cedar
from tasks import Inexpressible


class ControlSpec(Cedar):
    """`AcsInterceptor` of agent-control-spec with its built-in Cedar, in an enforcing emitter."""

    scope = 'principal, action == Action::"pre_tool_call", resource == Tool::"{}"'
    argument = "context.tool_call.args.{}"

    def govern(self, pay, path):
        import asyncio

        from agent_control_spec import AcsInterceptor, supported_manifest_versions
        from agent_hooks import AgentContextBuilder, EnforcementMode, InterceptionEmitter

        manifest = path.with_suffix(".yaml")
        manifest.write_text(MANIFEST.format(supported_manifest_versions()[-1], path))
        emitter = InterceptionEmitter(mode=EnforcementMode.ENFORCE)
        emitter.register(AcsInterceptor(str(manifest)), "policy")
        context = AgentContextBuilder(agent_id="ada", framework="bank", session_id="1")

        def call(*args, **arguments):
            if args:
                raise Inexpressible
            about = context.pre_tool_call(call_id="1", name="pay", args=arguments)
            outcome = asyncio.run(emitter.emit(about))
            return pay(**outcome.target)

        return call


MANIFEST = """\
agent_control_specification_version: {}
policies:
  bank: {{type: cedar, policy_path: '{}'}}
intervention_points:
  pre_tool_call:
    policy_target: $.tool_call.args
    tool_name_from: $.tool_call.name
    policy: {{id: bank}}
tools:
  pay: {{type: Tool, id: pay}}
"""


class GovernanceToolkit:
    """`govern` of agent-governance-toolkit-core. The conditions see the tool as the argument
    `action`, and have neither arithmetic nor patterns that could fail.
    """

    suffix = ".yaml"

    def write(self, path, rules):
        lines = ["apiVersion: governance.toolkit/v1", "name: bank", "rules:"]
        for rule in rules:
            condition = "action.type" if rule.tool == "*" else f"action.type == '{rule.tool}'"
            if rule.argument:
                if rule.operator == "fails":
                    raise Inexpressible
                operator = ">" if rule.operator == ">" else "=>"
                condition += f" and {rule.argument}.value {operator} 100"
            action = "allow" if rule.effect == "allow" else "deny"
            lines.append(f'  - {{name: r{len(lines)}, condition: "{condition}", action: {action}}}')
        path.write_text("\n".join(lines))
        return path

    def govern(self, pay, path):
        from agentmesh.governance import govern

        def governed(action, *args, **arguments):
            pay(*args, **arguments)

        wrapped = govern(governed, policy=str(path))

        def call(*args, **arguments):
            if args:
                return wrapped("pay", *args)
            return wrapped(action="pay", **arguments)

        return call

    def reload(self):
        raise Inexpressible

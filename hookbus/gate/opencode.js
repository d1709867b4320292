// Written by `hookbus gate install opencode`. `hookbus gate uninstall opencode` removes it.
// It asks the gate before and after every tool, and before every prompt. If the gate gives no
// answer, it throws, and OpenCode refuses the call or the prompt, or withholds the result.
import { spawn } from "node:child_process"

const [PYTHON, ...WORDS] = /* the command of the gate */[]
const [GO, REFUSED] = [77, 78]
const CLOSED = "hookbus: the gate did not run, so the event is blocked"

function run(event, folder) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, OPENCODE_PROJECT_DIR: folder }
    const hook = spawn(PYTHON, [...WORDS, event.hook_event_name], { env })
    const [out, err] = [[], []]
    hook.on("error", () => reject(new Error(CLOSED)))
    hook.stdin.on("error", () => {}) // the exit code says whether the event was read
    hook.stdout.on("data", (each) => out.push(each))
    hook.stderr.on("data", (each) => err.push(each))
    hook.on("close", (code) => {
      const refused = Buffer.concat(err).toString().trim()
      if (code === GO) resolve(Buffer.concat(out).toString())
      else reject(new Error(code === REFUSED && refused ? refused : CLOSED))
    })
    hook.stdin.end(JSON.stringify(event))
  })
}

function textOf(parts) {
  return parts.map((part) => (part.type === "text" ? part.text : JSON.stringify(part))).join("\n")
}

// What the gate answers in place of arguments or of a result; undefined if it changes nothing. An
// answer that cannot be used refuses.
function pick(answer, name, kind) {
  if (answer === "") return undefined
  const value = JSON.parse(answer)?.[name]
  if (value === null || Array.isArray(value) || typeof value !== kind) throw new Error(CLOSED)
  return value
}

export const hookbus = async ({ directory }) => {
  const begun = new Set()
  const ask = async (name, session, fields) => {
    const event = { hook_event_name: name, session_id: session, cwd: directory, ...fields }
    return run(event, directory)
  }
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created") begun.add(session)
      if (event.type === "session.idle" || event.type === "session.deleted")
        await ask(event.type, session, {}).catch(() => {})
    },
    "chat.message": async (input, output) => {
      await begin(input.sessionID)
      const answer = await ask("chat.message", input.sessionID, { prompt: textOf(output.parts) })
      if (answer !== "") throw new Error(CLOSED)
    },
    "tool.execute.before": async (input, output) => {
      await begin(input.sessionID)
      const answer = await ask("tool.execute.before", input.sessionID, {
        tool_name: input.tool, tool_use_id: input.callID, tool_input: output.args,
      })
      const changed = pick(answer, "arguments", "object")
      if (changed === undefined) return
      for (const name of Object.keys(output.args)) delete output.args[name]
      Object.assign(output.args, changed)
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask("tool.execute.after", input.sessionID, {
        tool_name: input.tool, tool_use_id: input.callID, tool_input: input.args,
        tool_response: output.output ?? JSON.stringify(output.content ?? output),
      })
      const changed = pick(answer, "output", "string")
      if (changed === undefined) return
      const isMcp = Array.isArray(output.content)
      for (const name of Object.keys(output)) delete output[name]
      if (isMcp) output.content = [{ type: "text", text: changed }]
      else Object.assign(output, { title: "", metadata: {}, output: changed })
    },
  }

  async function begin(session) {
    if (!begun.delete(session)) return
    await ask("session.created", session, { source: "startup" })
  }
}

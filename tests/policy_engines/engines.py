"""The engines: how each writes the rules, and how a program puts a tool under them.

Each is used as its documentation shows, and in the way that stops more where there are several.
"""

import os

from tasks import Inexpressible


class Denied(Exception):
    """An engine that only decides has denied the call."""


class Cedar:
    """`cedarpy` alone: the program asks before it calls the tool."""

    suffix = ".cedar"
    operators = {">": "{} > 100", "misspelt": "{} => 100",
                 "fails": "{} + 9223372036854775807 > 100"}  # fmt: skip
    argument = "context.{}"
    scope = 'principal, action, resource == Tool::"{}"'

    def write(self, path, rules):
        """Write the rules to a file."""
        lines = []
        for rule in rules:
            scope = "principal, action, resource"
            if rule.tool != "*":
                scope = self.scope.format(rule.tool)
            text = f"{'permit' if rule.effect == 'allow' else 'forbid'}({scope})"
            if rule.argument:
                about = self.argument.format(rule.argument)
                text += f" when {{ {self.operators[rule.operator].format(about)} }}"
            lines.append(f"{text};")
        path.write_text("\n".join(lines))
        return path

    def govern(self, pay, path):
        """Return the tool, called under the rules in the file."""
        import cedarpy

        policies = path.read_text()
        cedarpy.format_policies(policies)  # raises if the text is not valid

        def call(*args, **arguments):
            if args:
                raise Inexpressible
            request = {
                "principal": 'User::"ada"', "action": 'Action::"call"', "resource": 'Tool::"pay"',
                "context": arguments,
            }  # fmt: skip
            if not cedarpy.is_authorized(request, policies, []).allowed:
                raise Denied
            return pay(**arguments)

        return call

    def reload(self):
        """Read the file again, where the engine does it when it is told to."""
        raise Inexpressible


class Strands(Cedar):
    """The handler `CedarAuthorization` of Strands Agents, with the schema made of the tools."""

    scope = 'principal, action == Action::"{}", resource'
    argument = "context.input.{}"

    def govern(self, pay, path):
        from types import SimpleNamespace

        from strands.hooks.events import BeforeToolCallEvent
        from strands.interventions.actions import Proceed
        from strands.vended_interventions.cedar import CedarAuthorization

        tools = [{"name": "pay", "description": "pay", "inputSchema": SCHEMA}]
        self.handler = handler = CedarAuthorization(policies=str(path), tools=tools)
        kept = {}
        state = SimpleNamespace(get=kept.get, set=kept.__setitem__)

        def call(*args, **arguments):
            if args:
                raise Inexpressible
            use = {"name": "pay", "toolUseId": "1", "input": arguments}
            event = BeforeToolCallEvent(
                agent=SimpleNamespace(state=state), selected_tool=None, tool_use=use,
                invocation_state={},
            )  # fmt: skip
            answer = handler.before_tool_call(event)
            if not isinstance(answer, Proceed):
                raise Denied(answer.reason)
            return pay(**arguments)

        return call

    def reload(self):
        self.handler.reload()


SCHEMA = {
    "type": "object", "required": ["to"],
    "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
}  # fmt: skip


class Aegis:
    """`Policy.evaluate` of agent-aegis. Its decorator `guard` hides the names of arguments from the
    conditions, so it would stop less.
    """

    suffix = ".yaml"

    def write(self, path, rules):
        lines = ["rules:"]
        for rule in rules:
            approval = "auto" if rule.effect == "allow" else "block"
            lines.append(f"  - {{name: r{len(lines)}, match: {{type: '{rule.tool}'}}, ")
            lines[-1] += f"approval: {approval}"
            if rule.argument:
                value = '"("' if rule.operator == "fails" else 100
                name = {">": "param_gt", "misspelt": "param_gtt", "fails": "param_matches"}
                condition = f"{name[rule.operator]}: {{{rule.argument}: {value}}}"
                lines[-1] += f", conditions: {{{condition}}}"
            lines[-1] += "}"
        path.write_text("\n".join(lines))
        return path

    def govern(self, pay, path):
        from aegis.core.action import Action
        from aegis.core.policy import Policy

        policy = Policy.from_yaml(path)

        def call(*args, **arguments):
            if args:
                raise Inexpressible
            decision = policy.evaluate(Action(type="pay", target="bank", params=arguments))
            if decision.approval != "auto":
                raise Denied
            return pay(**arguments)

        return call

    def reload(self):
        raise Inexpressible


class ControlZero:
    """`Client.guard` of controlzero with `raise_on_deny=True`, without its service."""

    suffix = ".yaml"

    def write(self, path, rules):
        lines = ['version: "1"', "rules:"]
        for rule in rules:
            lines.append(f"  - {'allow' if rule.effect == 'allow' else 'deny'}: '{rule.tool}'")
            if rule.argument:
                operator, value = {
                    ">": ("gt", 100), "misspelt": ("gtt", 100), "fails": ("matches", '"("'),
                }[rule.operator]  # fmt: skip
                lines.append(f"    when: {{{rule.argument}: {{op: {operator}, value: {value}}}}}")
        path.write_text("\n".join(lines))
        return path

    def govern(self, pay, path):
        os.environ["CONTROLZERO_HOME"] = str(path.parent)
        from controlzero import Client

        client = Client(policy_file=path, log_path=str(path.with_suffix(".log")))

        def call(*args, **arguments):
            if args:
                raise Inexpressible
            client.guard("pay", arguments, raise_on_deny=True)
            return pay(**arguments)

        return call

    def reload(self):
        raise Inexpressible


class PolicyGateway:
    """`Gateway.wrap_tool` of agent-policy-gateway, which denies by default. It compares arguments
    for equality only: the rule is about the amount 500.
    """

    suffix = ".yaml"

    def write(self, path, rules):
        lines = ["version: 1", "name: bank", "rules:"]
        for rule in rules:
            lines += [f"  - id: r{len(lines)}", f"    when: {{tool: '{rule.tool}'"]
            if rule.argument:
                name, value = {
                    ">": ("arg_equals", 500), "misspelt": ("arg_equal", 500),
                    "fails": ("arg_matches", '"("'),
                }[rule.operator]  # fmt: skip
                lines[-1] += f", {name}: {{{rule.argument}: {value}}}"
            lines[-1] += "}"
            effect = "allow" if rule.effect == "allow" else "deny"
            lines.append(f"    effect: {{action: {effect}}}")
        path.write_text("\n".join(lines))
        return path

    def govern(self, pay, path):
        from agent_policy_gateway import Gateway
        from agent_policy_gateway.reload import watch_policy

        gateway = Gateway(policies=[watch_policy(path)], default_deny=True)
        wrapped = gateway.wrap_tool(pay, tool_name="pay")

        def call(*args, **arguments):
            if any(value != value for value in arguments.values()):
                raise Inexpressible  # equality says nothing about a number that equals nothing
            return wrapped(*args, **arguments)

        return call

    def reload(self):
        """It watches the file."""


class Hookbus(Cedar):
    """`guards.policy`, with the schema of the annotated function."""

    scope = 'principal, action, resource == Hook::"{}"'
    argument = "context.arguments.{}"

    def write(self, path, rules):
        super().write(path, rules)
        path.write_text(path.read_text().replace("action, resource)", "action, resource is Hook)"))
        return path

    def govern(self, pay, path):
        from hookbus import Bus, guards, hookable

        bus = Bus()

        def governed(to: str, amount: int = 500) -> None:
            pay(to, amount)

        call = hookable("pay", bus=bus)(governed)
        self.guard = bus.register(guards.policy(path, hook="pay"))
        return call

    def reload(self):
        """It looks at the file by itself."""

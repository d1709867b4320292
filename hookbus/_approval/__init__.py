"""How a call asks for an approval, and which calls inside it need no second one."""

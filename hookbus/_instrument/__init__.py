"""`instrument` makes methods and functions of existing code hookable."""

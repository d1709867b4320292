"""Make methods and functions of existing code hookable with `instrument`."""

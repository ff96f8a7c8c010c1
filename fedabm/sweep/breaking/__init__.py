"""Where in the space of parameters a condition fails: boxes, and a tree that can be read."""

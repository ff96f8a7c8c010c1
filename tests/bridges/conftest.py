"""The app inside Flower is read only where Flower is installed."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("flwr") else ["flower_app.py"]

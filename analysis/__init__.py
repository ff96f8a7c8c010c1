"""Figures and notebooks; they read frames only."""

"""What one owner does with its own view: contribute, report, tamper, stay or quit."""

"""Rules that hand every owner a model of its own; `fedabm.mechanisms` lists them."""

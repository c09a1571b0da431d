"""What `fuzz_api.py` and `fuzz_inputs.py` are made of."""

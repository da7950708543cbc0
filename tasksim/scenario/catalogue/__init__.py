"""The scenarios that come along, one TOML file each."""

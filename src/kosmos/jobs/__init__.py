"""Jobs that survive anything. This room knows no domain: what a job does is registered from above."""

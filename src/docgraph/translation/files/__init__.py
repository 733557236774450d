"""Files: read, translate and write them, alone (`translate`) or on a cluster, and go on after an interruption."""

"""Files: reads, translates and writes them (`translate`), optionally on a cluster; resumes interrupted runs."""

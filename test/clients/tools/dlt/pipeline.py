# What a project with dlt's rest_api source has: events by their time, everything else whole, into a DuckDB file.

import json
import sys

import dlt
import duckdb
from dlt.sources.rest_api import rest_api_source

host, key = sys.argv[1:3]
since = {"type": "incremental", "cursor_path": "timestamp", "initial_value": "2020-01-01T00:00:00Z"}
source = rest_api_source(
    {
        "client": {
            "base_url": f"{host}/api/projects/@current/",
            "auth": {"type": "bearer", "token": key},
            "paginator": {"type": "json_link", "next_url_path": "next"},
        },
        "resource_defaults": {
            "primary_key": "id",
            "write_disposition": "merge",
            "endpoint": {"data_selector": "results", "params": {"limit": 100}},
        },
        "resources": [
            {"name": "events", "endpoint": {"path": "events/", "params": {"limit": 100, "after": since}}},
            "persons",
            "insights",
            "dashboards",
            "cohorts",
        ],
    }
)
pipeline = dlt.pipeline(
    "moved",
    destination=dlt.destinations.duckdb("loaded.duckdb"),
    dataset_name="sluice",
    pipelines_dir="state",
)
pipeline.run(source).raise_on_failed_jobs()
base = duckdb.connect("loaded.duckdb")
counted = {
    name: base.execute(f"SELECT count(*), count(DISTINCT id) FROM sluice.{name}").fetchone()
    for name in ["events", "persons", "insights", "dashboards"]
}
print(json.dumps(counted))

# What a program does with the client that openapi-generator makes for Python. Prints what it was answered, as JSON.

import importlib
import json
import os
import pkgutil

import sluice_client
from sluice_client.models import (
    BatchExportDestinationRequest,
    BatchExportRequest,
    EventsNode,
    InsightRequest,
    InsightVizNode,
    PatchedInsight,
    Query,
    QueryRequest,
    QuerySource,
    TrendsQuery,
)

for module in pkgutil.walk_packages(sluice_client.__path__, "sluice_client."):
    importlib.import_module(module.name)

configuration = sluice_client.Configuration(host=os.environ["HOST"], access_token=os.environ["KEY"])
client = sluice_client.ApiClient(configuration)
insights = sluice_client.InsightsApi(client)
project = "@current"

trends = TrendsQuery(kind="TrendsQuery", series=[EventsNode(kind="EventsNode", event="$pageview")])
shown = Query(InsightVizNode(kind="InsightVizNode", source=QuerySource(trends)))
made = insights.insights_create(project, InsightRequest(name=os.environ["WHO"], query=shown, tags=["generated"]))
changed = insights.insights_partial_update(project, made.short_id, PatchedInsight(favorited=True))
listed = insights.insights_list(project, search=os.environ["WHO"], favorited=True)
wrapper = listed.results[0].query.actual_instance
persons = sluice_client.PersonsApi(client).persons_list(project)
export = sluice_client.BatchExportsApi(client).batch_exports_create(
    project,
    BatchExportRequest(
        name="made",
        interval="day",
        destination=BatchExportDestinationRequest(type="NoOp", config={}),
        filters=[{"key": "plan", "operator": "exact", "value": ["paid"], "type": "event"}],
    ),
)
answer = sluice_client.QueriesApi(client).query_create(project, QueryRequest(query=Query(trends)))
try:
    insights.insights_retrieve(project, "nosuchid")
    missing = None
except sluice_client.exceptions.NotFoundException as thrown:
    missing = thrown.status

print(
    json.dumps(
        {
            "short": len(made.short_id),
            "favorite": changed.favorited,
            "query": [wrapper.kind, wrapper.source.actual_instance.kind],
            "event": wrapper.source.actual_instance.series[0].event,
            "insights": listed.count,
            "persons": [person.distinct_ids[0] for person in persons.results],
            "export": [export.destination.type, export.filters[0]["key"], export.paused],
            "results": sum(answer.results[0]["data"]),
            "error": answer.error,
            "missing": missing,
        }
    )
)

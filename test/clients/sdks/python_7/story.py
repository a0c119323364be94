# The story of every SDK here, told with posthog-python as it is today: `story.py HOST KEY WHO`.
import sys
from datetime import datetime, timezone

from posthog import Posthog

host, key, who = sys.argv[1:]
visitor, user, company = f"{who}-visitor", f"{who}-user", f"{who}-acme"
client = Posthog(key, host=host, flush_at=8, gzip=True)

client.capture("looked", distinct_id=visitor, properties={"page": "/prices?für=🚲"})
client.set(distinct_id=user, properties={"email": "zoë@example.com", "plan": "free"})
client.alias(visitor, user)
client.group_identify("company", company, {"name": "株式会社", "seats": 3})
client.capture("joined", distinct_id=user, groups={"company": company})
client.capture(
    "renewed", distinct_id=user, properties={"$set": {"plan": "paid"}, "$set_once": {"first": "today"}}
)
client.capture(
    "values",
    distinct_id=user,
    properties={
        "text": 'Zoë 🚲 日本語 \u2028 "quoted" \\ \t',
        "empty": "",
        "zero": 0,
        "negative": -12.5,
        "large": 9007199254740991,
        "small": 1e-7,
        "yes": True,
        "nothing": None,
        "list": [1, "two", [3]],
        "nested": {"deep": {"deeper": "ü"}},
    },
)
client.capture(
    "long ago",
    distinct_id=user,
    timestamp=datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=timezone.utc),
    uuid="0190a3c5-0000-7000-8000-" + f"{sum(who.encode()):012x}",
)
for number in range(20):
    client.capture("bought", distinct_id=user, properties={"number": number, "price": number * 1.1})
client.shutdown()

# The story of every SDK here, told with posthog-python 3: `story.py HOST KEY WHO`.
import sys
from datetime import datetime, timezone

from posthog import Posthog

host, key, who = sys.argv[1:]
visitor, user, company = f"{who}-visitor", f"{who}-user", f"{who}-acme"
client = Posthog(key, host=host, flush_at=8)

client.capture(visitor, "looked", {"page": "/prices?für=🚲"})
client.identify(user, {"email": "zoë@example.com", "plan": "free"})
client.alias(visitor, user)
client.group_identify("company", company, {"name": "株式会社", "seats": 3})
client.capture(user, "joined", groups={"company": company})
client.capture(user, "renewed", {"$set": {"plan": "paid"}, "$set_once": {"first": "today"}})
client.capture(
    user,
    "values",
    {
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
    user,
    "long ago",
    timestamp=datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=timezone.utc),
    uuid="0190a3c5-0000-7000-8000-" + f"{sum(who.encode()):012x}",
)
for number in range(20):
    client.capture(user, "bought", {"number": number, "price": number * 1.1})
client.shutdown()

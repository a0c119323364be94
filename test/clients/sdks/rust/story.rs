// The story of every SDK here, told with posthog-rs: `story HOST KEY WHO`; feature v1 is its v1 mode.

use chrono::{TimeZone, Utc};
use posthog_rs::{ClientOptionsBuilder, Event};
use serde_json::{json, Value};

fn event(name: &str, distinct_id: &str, properties: Value) -> Event {
    let mut event = Event::new(name, distinct_id);
    for (name, value) in properties.as_object().unwrap() {
        event.insert_prop(name, value).unwrap();
    }
    event
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, host, key, who] = args.as_slice() else {
        panic!("story HOST KEY WHO")
    };
    let visitor = format!("{who}-visitor");
    let user = format!("{who}-user");
    let company = format!("{who}-acme");
    let options = ClientOptionsBuilder::default()
        .host(host)
        .api_key(key.clone())
        .flush_at(8)
        .max_batch_size(8)
        .build()
        .unwrap();
    let client = posthog_rs::client(options);

    client.capture(event("looked", &visitor, json!({"page": "/prices?für=🚲"})));
    let about = json!({"email": "zoë@example.com", "plan": "free"});
    client.capture(event("$identify", &user, json!({"$set": about})));
    client.alias(&visitor, &user);
    let acme = json!({"name": "株式会社", "seats": 3});
    client.group_identify("company", &company, acme).unwrap();
    let mut joined = Event::new("joined", user.as_str());
    joined.add_group("company", &company);
    client.capture(joined);
    let changes = json!({"$set": {"plan": "paid"}, "$set_once": {"first": "today"}});
    client.capture(event("renewed", &user, changes));
    let values = json!({
        "text": "Zoë 🚲 日本語 \u{2028} \"quoted\" \\ \t",
        "empty": "",
        "zero": 0,
        "negative": -12.5,
        "large": 9007199254740991_i64,
        "small": 1e-7,
        "yes": true,
        "nothing": null,
        "list": [1, "two", [3]],
        "nested": {"deep": {"deeper": "ü"}},
    });
    client.capture(event("values", &user, values));
    let mut long_ago = Event::new("long ago", user.as_str());
    let then = Utc.timestamp_millis_opt(1_709_210_096_789).unwrap();
    long_ago.set_timestamp(then).unwrap();
    client.capture(long_ago);
    let bought = (0..20)
        .map(|number| event("bought", &user, json!({"number": number, "price": number as f64 * 1.1})))
        .collect();
    client.capture_batch(bought, false);
    client.flush();
    client.shutdown();
}

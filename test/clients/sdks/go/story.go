// The story of every SDK here, told with posthog-go: `story HOST KEY WHO`; in v1 mode if the environment says so.
package main

import (
	"log"
	"os"
	"time"

	"github.com/posthog/posthog-go"
)

func main() {
	host, key, who := os.Args[1], os.Args[2], os.Args[3]
	visitor, user, company := who+"-visitor", who+"-user", who+"-acme"
	config := posthog.Config{Endpoint: host, BatchSize: 8}
	if os.Getenv("POSTHOG_CAPTURE_MODE") == "v1" {
		config.CaptureMode = posthog.CaptureModeAnalyticsV1
		config.Compression = posthog.CompressionZstd
	}
	client, err := posthog.NewWithConfig(key, config)
	if err != nil {
		log.Fatal(err)
	}
	send := func(message posthog.Message) {
		if err := client.Enqueue(message); err != nil {
			log.Fatal(err)
		}
	}
	capture := func(event string, properties posthog.Properties) {
		send(posthog.Capture{DistinctId: user, Event: event, Properties: properties})
	}

	page := posthog.Properties{"page": "/prices?für=🚲"}
	send(posthog.Capture{DistinctId: visitor, Event: "looked", Properties: page})
	about := posthog.Properties{"email": "zoë@example.com", "plan": "free"}
	send(posthog.Identify{DistinctId: user, Properties: about})
	send(posthog.Alias{DistinctId: user, Alias: visitor})
	acme := posthog.Properties{"name": "株式会社", "seats": 3}
	send(posthog.GroupIdentify{Type: "company", Key: company, Properties: acme})
	send(posthog.Capture{DistinctId: user, Event: "joined", Groups: posthog.Groups{"company": company}})
	capture("renewed", posthog.Properties{
		"$set":      map[string]any{"plan": "paid"},
		"$set_once": map[string]any{"first": "today"},
	})
	capture("values", posthog.Properties{
		"text":     "Zoë 🚲 日本語 \u2028 \"quoted\" \\ \t",
		"empty":    "",
		"zero":     0,
		"negative": -12.5,
		"large":    9007199254740991,
		"small":    1e-7,
		"yes":      true,
		"nothing":  nil,
		"list":     []any{1, "two", []any{3}},
		"nested":   map[string]any{"deep": map[string]any{"deeper": "ü"}},
	})
	then := time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.UTC)
	send(posthog.Capture{DistinctId: user, Event: "long ago", Timestamp: then})
	for number := 0; number < 20; number++ {
		capture("bought", posthog.Properties{"number": number, "price": float64(number) * 1.1})
	}
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
}

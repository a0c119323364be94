// Snippets that send a first event, by language.

/** @param url the server's, as the browser reached it. */
export function writeSnippets(url: string, key: string): { name: string; text: string }[] {
  return [
    {
      name: "Web page",
      text: `<script src="${url}/static/array.js"></script>
<script>
  posthog.init("${key}", { api_host: "${url}" });
  posthog.capture("hello");
</script>`,
    },
    {
      name: "JavaScript",
      text: `// npm install posthog-js\nimport posthog from "posthog-js";

posthog.init("${key}", { api_host: "${url}" });
posthog.capture("hello", { plan: "free" });`,
    },
    {
      name: "Node",
      text: `// npm install posthog-node\nimport { PostHog } from "posthog-node";

const client = new PostHog("${key}", { host: "${url}" });
client.capture({ distinctId: "me", event: "hello" });
await client.shutdown();`,
    },
    {
      name: "Python",
      text: `# pip install posthog
from posthog import Posthog

client = Posthog("${key}", host="${url}")
client.capture("hello", distinct_id="me")
client.shutdown()`,
    },
    {
      name: "Go",
      text: `// go get github.com/posthog/posthog-go
package main

import "github.com/posthog/posthog-go"

func main() {
	client, _ := posthog.NewWithConfig("${key}", posthog.Config{Endpoint: "${url}"})
	defer client.Close()
	client.Enqueue(posthog.Capture{DistinctId: "me", Event: "hello"})
}`,
    },
    {
      name: "curl",
      text: `curl ${url}/capture/ -H 'content-type: application/json' \\
  -d '{"api_key":"${key}","event":"hello","distinct_id":"me"}'`,
    },
    {
      name: "Import",
      text: `# years of events from files of PostHog, Mixpanel, Amplitude, Segment, CSV or JSON
bun run sluice import FILE --host ${url} --api-key ${key}
bun run sluice import --help`,
    },
  ];
}

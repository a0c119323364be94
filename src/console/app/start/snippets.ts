// What to copy to send a first event, by language.

export interface Snippet {
  name: string;
  text: string;
}

/** @param url the server's, as the browser reached it. */
export function snippetsOf(url: string, key: string): Snippet[] {
  return [
    { name: "Web page", text: webPage(url, key) },
    { name: "JavaScript", text: javaScript(url, key) },
    { name: "Node", text: node(url, key) },
    { name: "Python", text: python(url, key) },
    { name: "Go", text: golangSnippet(url, key) },
    { name: "curl", text: curl(url, key) },
    { name: "Import", text: importer(url, key) },
  ];
}

function webPage(url: string, key: string): string {
  return `<script src="${url}/static/array.js"></script>
<script>
  posthog.init("${key}", { api_host: "${url}" });
  posthog.capture("hello");
</script>`;
}

function javaScript(url: string, key: string): string {
  return [
    `// npm install posthog-js`,
    `import posthog from "posthog-js";`,
    ``,
    `posthog.init("${key}", { api_host: "${url}" });`,
    `posthog.capture("hello", { plan: "free" });`,
  ].join("\n");
}

function node(url: string, key: string): string {
  return [
    `// npm install posthog-node`,
    `import { PostHog } from "posthog-node";`,
    ``,
    `const client = new PostHog("${key}", { host: "${url}" });`,
    `client.capture({ distinctId: "me", event: "hello" });`,
    `await client.shutdown();`,
  ].join("\n");
}

function python(url: string, key: string): string {
  return `# pip install posthog
from posthog import Posthog

client = Posthog("${key}", host="${url}")
client.capture("hello", distinct_id="me")
client.shutdown()`;
}

function golangSnippet(url: string, key: string): string {
  return `// go get github.com/posthog/posthog-go
package main

import "github.com/posthog/posthog-go"

func main() {
	client, _ := posthog.NewWithConfig("${key}", posthog.Config{Endpoint: "${url}"})
	defer client.Close()
	client.Enqueue(posthog.Capture{DistinctId: "me", Event: "hello"})
}`;
}

function curl(url: string, key: string): string {
  return `curl ${url}/capture/ -H 'content-type: application/json' \\
  -d '{"api_key":"${key}","event":"hello","distinct_id":"me"}'`;
}

function importer(url: string, key: string): string {
  return `# years of events from files of PostHog, Mixpanel, Amplitude, Segment, CSV or JSON
bun run sluice import FILE --host ${url} --api-key ${key}
bun run sluice import --help`;
}

// The story of every SDK here, told with posthog-server: `java Story.java HOST KEY WHO`; it ends when its input does.

import com.posthog.server.PostHog;
import com.posthog.server.PostHogCaptureOptions;
import com.posthog.server.PostHogConfig;
import com.posthog.server.PostHogInterface;
import java.io.IOException;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Story {
  public static void main(String[] args) throws IOException {
    String visitor = args[2] + "-visitor", user = args[2] + "-user", company = args[2] + "-acme";
    PostHogConfig config =
        PostHogConfig.builder(args[1])
            .host(args[0])
            .flushAt(8)
            .flushIntervalSeconds(1)
            .preloadFeatureFlags(false)
            .build();
    PostHogInterface client = PostHog.with(config);
    client.capture(visitor, "looked", with("page", "/prices?für=🚲").build());
    client.identify(user, Map.of("email", "zoë@example.com", "plan", "free"));
    client.alias(user, visitor);
    client.group(user, "company", company, Map.of("name", "株式会社", "seats", 3));
    client.capture(user, "joined", PostHogCaptureOptions.builder().group("company", company).build());
    client.capture(
        user,
        "renewed",
        PostHogCaptureOptions.builder()
            .userProperty("plan", "paid")
            .userPropertySetOnce("first", "today")
            .build());
    Map<String, Object> values = new HashMap<>();
    values.put("text", "Zoë 🚲 日本語 \u2028 \"quoted\" \\ \t");
    values.put("empty", "");
    values.put("zero", 0);
    values.put("negative", -12.5);
    values.put("large", 9007199254740991L);
    values.put("small", 1e-7);
    values.put("yes", true);
    values.put("list", Arrays.asList(1, "two", List.of(3)));
    values.put("nested", Map.of("deep", Map.of("deeper", "ü")));
    client.capture(user, "values", PostHogCaptureOptions.builder().properties(values).build());
    Instant then = Instant.parse("2024-02-29T12:34:56.789Z");
    client.capture(user, "long ago", PostHogCaptureOptions.builder().timestamp(then).build());
    for (int number = 0; number < 20; number++) {
      client.capture(user, "bought", with("number", number).property("price", number * 1.1).build());
    }
    // Whatever is not on its way when it closes is lost, and nothing tells when all is: whoever started it knows.
    System.in.read();
    client.close();
  }

  static PostHogCaptureOptions.Builder with(String name, Object value) {
    return PostHogCaptureOptions.builder().property(name, value);
  }
}

// The story of every SDK here, told with posthog-java: `java Story.java HOST KEY WHO`.

import com.posthog.java.PostHog;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class Story {
  public static void main(String[] args) {
    String visitor = args[2] + "-visitor", user = args[2] + "-user", company = args[2] + "-acme";
    PostHog client = new PostHog.Builder(args[1]).host(args[0]).build();
    client.capture(visitor, "looked", Map.of("page", "/prices?für=🚲"));
    client.identify(user, Map.of("email", "zoë@example.com", "plan", "free"));
    client.alias(user, visitor);
    // It knows no groups: what others send for them is an event like any.
    Map<String, Object> acme = Map.of("name", "株式会社", "seats", 3);
    client.capture(
        "$company_" + company,
        "$groupidentify",
        Map.of("$group_type", "company", "$group_key", company, "$group_set", acme));
    client.capture(user, "joined", Map.of("$groups", Map.of("company", company)));
    client.capture(
        user, "renewed", Map.of("$set", Map.of("plan", "paid"), "$set_once", Map.of("first", "today")));
    Map<String, Object> values = new HashMap<>();
    values.put("text", "Zoë 🚲 日本語 \u2028 \"quoted\" \\ \t");
    values.put("empty", "");
    values.put("zero", 0);
    values.put("negative", -12.5);
    values.put("large", 9007199254740991L);
    values.put("small", 1e-7);
    values.put("yes", true);
    values.put("nothing", null);
    values.put("list", Arrays.asList(1, "two", List.of(3)));
    values.put("nested", Map.of("deep", Map.of("deeper", "ü")));
    client.capture(user, "values", values);
    for (int number = 0; number < 20; number++) {
      client.capture(user, "bought", Map.of("number", number, "price", number * 1.1));
    }
    client.shutdown();
  }
}

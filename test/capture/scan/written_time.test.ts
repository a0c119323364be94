import { expect, test } from "bun:test";
import fc from "fast-check";
import { readWrittenTime } from "../../../src/capture/scan/written_time.ts";

const now = Date.UTC(2026, 10, 27, 21, 13) * 1000;
const read = (text: string): string => {
  const micros = readWrittenTime(text, { now });
  return Number.isNaN(micros) ? "none" : new Date(micros / 1000).toISOString().replace(".000Z", "Z");
};

// The forms in the README of the parser that PostHog's capture uses (waltzofpearls/dateparser 0.2.1), with what they
// mean; days without a time begin at midnight here.
const listed: readonly (readonly [string, string])[] = [
  ["1511648546", "2017-11-25T22:22:26Z"],
  ["1620021848429", "2021-05-03T06:04:08.429Z"],
  ["1620024872717915000", "2021-05-03T06:54:32.717Z"],
  ["2021-05-01T01:17:02.604456Z", "2021-05-01T01:17:02.604Z"],
  ["2017-11-25T22:34:50Z", "2017-11-25T22:34:50Z"],
  ["Wed, 02 Jun 2021 06:31:39 GMT", "2021-06-02T06:31:39Z"],
  ["2019-11-29 08:08-08", "2019-11-29T16:08:00Z"],
  ["2019-11-29 08:08:05-08", "2019-11-29T16:08:05Z"],
  ["2021-05-02 23:31:36.0741-07", "2021-05-03T06:31:36.074Z"],
  ["2021-05-02 23:31:39.12689-07", "2021-05-03T06:31:39.126Z"],
  ["2019-11-29 08:15:47.624504-08", "2019-11-29T16:15:47.624Z"],
  ["2017-07-19 03:21:51+00:00", "2017-07-19T03:21:51Z"],
  ["2014-04-26 05:24:37 PM", "2014-04-26T17:24:37Z"],
  ["2021-04-30 21:14", "2021-04-30T21:14:00Z"],
  ["2021-04-30 21:14:10", "2021-04-30T21:14:10Z"],
  ["2021-04-30 21:14:10.052282", "2021-04-30T21:14:10.052Z"],
  ["2014-04-26 17:24:37.123", "2014-04-26T17:24:37.123Z"],
  ["2014-04-26 17:24:37.3186369", "2014-04-26T17:24:37.318Z"],
  ["2012-08-03 18:31:59.257000000", "2012-08-03T18:31:59.257Z"],
  ["2017-11-25 13:31:15 PST", "2017-11-25T21:31:15Z"],
  ["2017-11-25 13:31 PST", "2017-11-25T21:31:00Z"],
  ["2014-12-16 06:20:00 UTC", "2014-12-16T06:20:00Z"],
  ["2014-12-16 06:20:00 GMT", "2014-12-16T06:20:00Z"],
  ["2014-04-26 13:13:43 +0800", "2014-04-26T05:13:43Z"],
  ["2014-04-26 13:13:44 +09:00", "2014-04-26T04:13:44Z"],
  ["2012-08-03 18:31:59.257000000 +0000", "2012-08-03T18:31:59.257Z"],
  ["2015-09-30 18:48:56.35272715 UTC", "2015-09-30T18:48:56.352Z"],
  ["2021-02-21", "2021-02-21T00:00:00Z"],
  ["2021-02-21 PST", "2021-02-21T08:00:00Z"],
  ["2021-02-21 UTC", "2021-02-21T00:00:00Z"],
  ["2020-07-20+08:00", "2020-07-19T16:00:00Z"],
  ["01:06:06", "2026-11-27T01:06:06Z"],
  ["4:00pm", "2026-11-27T16:00:00Z"],
  ["6:00 AM", "2026-11-27T06:00:00Z"],
  ["01:06:06 PST", "2026-11-27T09:06:06Z"],
  ["4:00pm PST", "2026-11-28T00:00:00Z"],
  ["6:00 AM PST", "2026-11-27T14:00:00Z"],
  ["6:00pm UTC", "2026-11-27T18:00:00Z"],
  ["May 6 at 9:24 PM", "2026-05-06T21:24:00Z"],
  ["May 27 02:45:27", "2026-05-27T02:45:27Z"],
  ["May 8, 2009 5:57:51 PM", "2009-05-08T17:57:51Z"],
  ["September 17, 2012 10:09am", "2012-09-17T10:09:00Z"],
  ["September 17, 2012, 10:10:09", "2012-09-17T10:10:09Z"],
  ["May 02, 2021 15:51:31 UTC", "2021-05-02T15:51:31Z"],
  ["May 02, 2021 15:51 UTC", "2021-05-02T15:51:00Z"],
  ["May 26, 2021, 12:49 AM PDT", "2021-05-26T07:49:00Z"],
  ["September 17, 2012 at 10:09am PST", "2012-09-17T18:09:00Z"],
  ["2021-Feb-21", "2021-02-21T00:00:00Z"],
  ["May 25, 2021", "2021-05-25T00:00:00Z"],
  ["oct 7, 1970", "1970-10-07T00:00:00Z"],
  ["oct 7, 70", "1970-10-07T00:00:00Z"],
  ["oct. 7, 1970", "1970-10-07T00:00:00Z"],
  ["oct. 7, 70", "1970-10-07T00:00:00Z"],
  ["October 7, 1970", "1970-10-07T00:00:00Z"],
  ["12-Feb-2006, 19:17", "2006-02-12T19:17:00Z"],
  ["12-Feb-2006 19:17", "2006-02-12T19:17:00Z"],
  ["14-October-2019 19:11:40.164", "2019-10-14T19:11:40.164Z"],
  ["12-Feb-2006", "2006-02-12T00:00:00Z"],
  ["14-October-2019", "2019-10-14T00:00:00Z"],
  ["12 Feb 2006, 19:17", "2006-02-12T19:17:00Z"],
  ["12 Feb 2006 19:17", "2006-02-12T19:17:00Z"],
  ["14 May 2019 19:11:40.164", "2019-05-14T19:11:40.164Z"],
  ["7 oct 70", "1970-10-07T00:00:00Z"],
  ["7 oct 1970", "1970-10-07T00:00:00Z"],
  ["03 February 2013", "2013-02-03T00:00:00Z"],
  ["1 July 2013", "2013-07-01T00:00:00Z"],
  ["4/8/2014 22:05", "2014-04-08T22:05:00Z"],
  ["04/08/2014 22:05", "2014-04-08T22:05:00Z"],
  ["4/8/14 22:05", "2014-04-08T22:05:00Z"],
  ["04/2/2014 03:00:51", "2014-04-02T03:00:51Z"],
  ["8/8/1965 12:00:00 AM", "1965-08-08T00:00:00Z"],
  ["8/8/1965 01:00:01 PM", "1965-08-08T13:00:01Z"],
  ["8/8/1965 01:00 PM", "1965-08-08T13:00:00Z"],
  ["8/8/1965 1:00 PM", "1965-08-08T13:00:00Z"],
  ["8/8/1965 12:00 AM", "1965-08-08T00:00:00Z"],
  ["4/02/2014 03:00:51", "2014-04-02T03:00:51Z"],
  ["03/19/2012 10:11:59", "2012-03-19T10:11:59Z"],
  ["03/19/2012 10:11:59.3186369", "2012-03-19T10:11:59.318Z"],
  ["3/31/2014", "2014-03-31T00:00:00Z"],
  ["03/31/2014", "2014-03-31T00:00:00Z"],
  ["08/21/71", "1971-08-21T00:00:00Z"],
  ["8/1/71", "1971-08-01T00:00:00Z"],
  ["2014/4/8 22:05", "2014-04-08T22:05:00Z"],
  ["2014/04/08 22:05", "2014-04-08T22:05:00Z"],
  ["2014/04/2 03:00:51", "2014-04-02T03:00:51Z"],
  ["2014/4/02 03:00:51", "2014-04-02T03:00:51Z"],
  ["2012/03/19 10:11:59", "2012-03-19T10:11:59Z"],
  ["2012/03/19 10:11:59.3186369", "2012-03-19T10:11:59.318Z"],
  ["2014/3/31", "2014-03-31T00:00:00Z"],
  ["2014/03/31", "2014-03-31T00:00:00Z"],
  ["3.31.2014", "2014-03-31T00:00:00Z"],
  ["03.31.2014", "2014-03-31T00:00:00Z"],
  ["08.21.71", "1971-08-21T00:00:00Z"],
  ["2014.03.30", "2014-03-30T00:00:00Z"],
  ["2014.03", "2014-03-01T00:00:00Z"],
  ["171113 14:14:20", "2017-11-13T14:14:20Z"],
  ["2014年04月08日11时25分18秒", "2014-04-08T11:25:18Z"],
  ["2014年04月08日", "2014-04-08T00:00:00Z"],
];

test.each(listed)("reads %p, which PostHog's parser lists, as %p", (text, moment) => {
  expect(read(text)).toBe(moment);
});

const moment = "2024-05-06T08:11:12Z";
test.each([
  "Mon, 06 May 24 08:11:12 GMT",
  "06 May 24 08:11 GMT",
  "Mon, 06 May 2024 10:11:12 +0200",
  "2024-05-06T10:11:12+02:00[Europe/Berlin]",
  "2024-05-06T08:11:12Z[UTC]",
  "2024-05-06T10:11:12[Europe/Berlin]",
  "2024-05-06T08:11:12+00:00[!Etc/UTC]",
  "2024-05-06T08:11:12 UTC",
  "2024-05-06 10:11:12 +0200 CEST",
  "2024-05-06 10:11:12.000000000 +0200 CEST m=+0.000012",
  "Mon May 06 2024 10:11:12 GMT+0200 (Central European Summer Time)",
  "Mon May  6 08:11:12 2024",
  "Mon May  6 10:11:12 CEST 2024",
  "Mon May 6 10:11:12 2024 +0200",
  "Monday, 06-May-24 08:11:12 GMT",
  "20240506081112",
  "20240506T081112Z",
  "20240506T101112+0200",
  "1714983072",
  "1714983072000",
  "1714983072000000",
  "1714983072000000000",
  "1.714983072e9",
  "2024年05月06日 08时11分12秒",
  "2024-05-06t08:11:12z",
  "2024-127T08:11:12Z",
  "2024-W19-1T08:11:12Z",
  // airbytehq/airbyte#12953: a dimension of Google Analytics; Java's yyyyMMddHHmmssSSS.
  "202405060811",
  "20240506081112123",
  // log2timeline/dfdatetime#207, Azure/amqpnetlite#434: 100 ns since the year 1, and since 1601.
  "638505798720000000",
  "133594566720000000",
  // segmentio/analytics-swift#75.
  "2024-05-06T08:11:12.029:Z",
  "2024-05-06T10:11:12:+02:00",
  // PlayFab/UnitySDK#219, and Oracle's logs.
  "2024-05-06T08.11.12.988Z",
  "06-MAY-24 08.11.12.000000 AM",
  "2024-05-06 8.11.12",
  // grafana/grafana#130134: Go's zones without a name.
  "2024-05-06 11:41:12 +0330 +0330",
  "2024-05-06 05:11:12.5 -0300 -03 m=+0.000012",
])("reads %p as one moment", (text) => {
  expect(read(text).slice(0, 16)).toBe(moment.slice(0, 16));
});

// tiktok/tiktok-business-ios-sdk#66, #67, ushahidi/Ushahidi_Android#83: a phone with a clock of twelve hours rewrites
// the hour of a fixed format, in its own language.
test.each([
  ["2024-05-06T8:11:12 AMZ", "T3:11:12 PMZ"],
  ["2024-05-06 8:11:12 a. m.", " 3:11:12 p.\u00a0m."],
  ["2024-05-06T8:11:12.000 a.m.+0000", "T3:11:12.000 p.m.+0000"],
  ["2024-05-06T上午8:11:12Z", "T下午3:11:12Z"],
  ["2024/05/06 午前8:11:12", " 午後 03:11:12"],
  ["2024-05-06T오전 8:11:12Z", "T오후 3:11:12Z"],
])("reads the halves of a day in %p", (morning, later) => {
  expect(read(morning)).toBe(moment);
  expect(read(`${morning.slice(0, 10)}${later}`)).toBe("2024-05-06T15:11:12Z");
});

test.each([
  ["20240506", "2024-05-06T00:00:00Z"],
  ["2024", "2024-01-01T00:00:00Z"],
  ["2014.03", "2014-03-01T00:00:00Z"],
  ["2024-05", "2024-05-01T00:00:00Z"],
])("reads the date %p as its first moment, not as a number", (text, day) => {
  expect(read(text)).toBe(day);
});

test.each([
  "",
  "0",
  "12345",
  "99999999",
  "201403",
  "2014.13",
  "1e300",
  "NaN",
  "true",
  "never",
  "yesterday 5",
  "2023-02-29",
  "2024-05-06T08:11:12 XYZ",
  "2024-05-06T08:11:12+25:00",
  "2024-05-06T08:11:12[+02:00]",
  "2024-05-06T08:11:12[Not/AZone]",
  "29/02/2024",
  "06.05.2024 10:11:12",
  "13.05.2024 10:11:12",
  "05-06-2024",
  "13:61",
  "13:00pm",
  "2024-05-06T24:00:01Z",
  "2024-05-06T08.11",
  "2024-05-06T08.61.12",
  "2024-05-06T08:11:12 amt",
  "2024-05-06T下午13:11:12Z",
  `2024-05-06${" ".repeat(90)}08:11:12`,
])("takes %p for no time", (text) => {
  expect(read(text)).toBe("none");
});

test("reads numeric dates in the order that is given, and refuses them without one", () => {
  const readIn = (text: string, numericDates: "day-first" | "month-first" | "refused"): string => {
    const micros = readWrittenTime(text, { numericDates });
    return Number.isNaN(micros) ? "none" : new Date(micros / 1000).toISOString();
  };
  for (const text of ["06.05.2024 08:11:12", "6/5/2024 08:11:12", "06-05-2024 08:11:12"]) {
    expect(readIn(text, "day-first")).toBe("2024-05-06T08:11:12.000Z");
    expect(readIn(text, "month-first")).toBe("2024-06-05T08:11:12.000Z");
    expect(readIn(text, "refused")).toBe("none");
  }
  expect(readIn("31.12.2024", "day-first")).toBe("2024-12-31T00:00:00.000Z");
  expect(readIn("31.12.2024", "month-first")).toBe("none");
});

test("without the moment, a text without a day or a year is no time", () => {
  for (const text of ["4:00pm", "May 27 02:45:27"]) expect(readWrittenTime(text)).toBeNaN();
});

test("reads what a runtime prints of random moments", () => {
  const date = fc.date({ min: new Date("1973-04-01"), max: new Date("2199-12-31"), noInvalidDate: true });
  fc.assert(
    fc.property(date, (at) => {
      const seconds = Math.floor(at.getTime() / 1000) * 1_000_000;
      expect(readWrittenTime(at.toUTCString())).toBe(seconds);
      expect(readWrittenTime(at.toString())).toBe(seconds);
      expect(readWrittenTime(at.toLocaleString("en-US", { timeZone: "UTC" }).replace(/\u202f/g, " "))).toBe(
        seconds,
      );
      expect(readWrittenTime(String(at.getTime()))).toBe(at.getTime() * 1000);
    }),
  );
});

const slowly = (text: string): number => readWrittenTime(text);

test("reads ISO 8601's rarer spellings: basic, week and ordinal dates", () => {
  const moment = Date.UTC(2024, 1, 29, 12, 34, 56) * 1000;
  for (const text of [
    "20240229T123456Z",
    "20240229T143456+02:00",
    "2024-060T12:34:56Z",
    "2024-W09-4T12:34:56Z",
  ])
    expect(slowly(text)).toBe(moment);
  expect(slowly("2024W094 12:34:56")).toBe(moment);
  expect(slowly("2020-W53-7")).toBe(Date.UTC(2021, 0, 3) * 1000);
  expect(slowly("1969-W01-1")).toBe(Date.UTC(1968, 11, 30) * 1000);
  for (const wrong of [
    "2023-366",
    "2024-000",
    "2024-W54-1",
    "2024-W00-1",
    "20240230T000000Z",
    "20241301T0000Z",
  ])
    expect(slowly(wrong)).toBeNaN();
});

test("reads what other runtimes print, if it names its year", () => {
  const moment = Date.UTC(2024, 1, 29, 12, 34, 56) * 1000;
  for (const text of [
    "Thu Feb 29 2024 12:34:56 GMT+0000 (Coordinated Universal Time)",
    "Thu, 29 Feb 2024 07:34:56 EST",
    "Feb 29, 2024 12:34:56",
    "2/29/2024 12:34:56",
    " 2024-02-29T12:34:56Z ",
    "1709210096",
    "1709210096000",
  ])
    expect(slowly(text)).toBe(moment);
  expect(slowly("2024-02-28T24:00:00Z")).toBe(Date.UTC(2024, 1, 29) * 1000);
  for (const vague of ["yesterday 5", "soon", "29/02/2024"]) expect(slowly(vague)).toBeNaN();
});

test("agrees with the runtime about ordinal and week dates", () => {
  fc.assert(
    fc.property(fc.integer({ min: -25_000, max: 80_000 }), (day) => {
      const date = new Date(day * 86_400_000);
      const year = date.getUTCFullYear();
      const ordinal = day - Date.UTC(year, 0, 1) / 86_400_000 + 1;
      expect(slowly(`${year}-${String(ordinal).padStart(3, "0")}`)).toBe(day * 86_400_000_000);
      // The Thursday of a week names its year.
      const weekday = ((date.getUTCDay() + 6) % 7) + 1;
      const thursday = new Date((day + 4 - weekday) * 86_400_000);
      const weekYear = thursday.getUTCFullYear();
      const week = Math.floor((thursday.getTime() - Date.UTC(weekYear, 0, 1)) / 604_800_000) + 1;
      expect(slowly(`${weekYear}-W${String(week).padStart(2, "0")}-${weekday}`)).toBe(day * 86_400_000_000);
    }),
  );
});

// Bounds of the channels that deliveries go through, with their units and reasons.

export const channelLimits = {
  /** How long a webhook may take to answer, in ms. */
  webhookMsMax: 15_000,
  /** Characters of a webhook's answer that a delivery's error repeats. */
  answerCharsMax: 300,
  /** How long a mail server may take to connect and to greet, in ms. */
  smtpConnectMsMax: 10_000,
  /** How long it may be silent, in ms. */
  smtpSilenceMsMax: 15_000,
  /** How long it may take over one letter, in ms: less than a graceful stop waits. */
  smtpSendMsMax: 25_000,
  /** How long a connection to it is kept for the next letter, in ms. */
  smtpIdleMs: 2000,
};

// Bounds of the channels, with their units and reasons.

export const channelLimits = {
  /** How long a webhook may take to answer, in ms. */
  webhookMsMax: 15_000,
  /** Characters of a webhook's answer that are quoted in an error. */
  answerCharsMax: 300,
  /** How long a mail server may take to connect and to greet, in ms. */
  smtpConnectMsMax: 10_000,
  /** How long a mail server may send nothing, in ms. */
  smtpSilenceMsMax: 15_000,
  /** How long one email may take, in ms: less than a graceful stop waits. */
  smtpSendMsMax: 25_000,
  /** How long an idle connection is kept for the next email, in ms. */
  smtpIdleMs: 2000,
};

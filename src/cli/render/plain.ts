// Text that others wrote (reasons, names, errors) never steers a terminal.

// oxlint-disable-next-line no-control-regex -- removing them is the point.
const STEERING = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text without control characters; a tab or a line's end becomes a blank. */
export function plain(text: string): string {
  return text.replaceAll(/[\t\r\n]+/g, " ").replaceAll(STEERING, "");
}

/** The text in at most `length` characters. */
export function shortened(text: string, length: number): string {
  const clean = plain(text);
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`;
}

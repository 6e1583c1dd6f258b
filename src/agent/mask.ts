// Credentials inside a URL never leave the agent: not in an answer, an error or a log line.

/** The URL without its user part, as it may be shown. A path is shown as it is. */
export function shownUrl(url: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return url;
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1").replace(/[?#].*$/, "");
}

/** The parts of a URL that must not be shown: its user part, the password, and anything in its query. */
export function secretsOf(url: string): string[] {
  const user = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)@/i.exec(url)?.[1];
  const query = /^[a-z][a-z0-9+.-]*:\/\/[^?#]*\?(.*)$/i.exec(url)?.[1];
  const parts = [user ?? "", query ?? ""].flatMap((whole) => {
    const [first = "", ...rest] = whole.split(/[:&=]/);
    // A bare user name such as `git` is no secret and a common word; a long one is a token.
    return [...(first.length > 7 ? [first] : []), ...rest, ...(rest.length > 0 ? [whole] : [])];
  });
  return parts.flatMap((part) => [part, decoded(part)]).filter((part) => part.length > 2);
}

/** A text with the given secrets and every user part of a URL in it replaced. */
export function masked(text: string, secrets: readonly string[]): string {
  const known = [...secrets]
    .sort((a, b) => b.length - a.length)
    .reduce((left, secret) => left.replaceAll(secret, "***"), text);
  return known.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s'"@]+@/gi, "$1***@");
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

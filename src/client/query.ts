// What is not given is not asked for: a query without its undefined parts.

/** A query without what is not given. */
export const queryOf = (
  given: Readonly<Record<string, string | number | undefined>>,
): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );

// What is wrong with a value, in our words: what a schema says itself stands, and whatever it leaves to the parser is worded
// here and nowhere else, so that no library speaks to people.

import type * as z from "zod";

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  tuple: "a list",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  url: "is no URL such as http://127.0.0.1:8790",
  base64: "is no base64",
};

/** How much is too much or too little: characters of a text, entries of a list, and a number itself. */
function sizeWords(
  issue: { readonly origin: string; readonly inclusive?: boolean },
  is: string,
  bound: string,
): string {
  const { origin, inclusive = true } = issue;
  if (origin === "string") return `is ${is === "big" ? "longer" : "shorter"} than ${bound} characters`;
  if (origin === "array") return `has ${is === "big" ? "more" : "fewer"} than ${bound} entries`;
  if (inclusive) return `must be at ${is === "big" ? "most" : "least"} ${bound}`;
  return `must be ${is === "big" ? "less" : "more"} than ${bound}`;
}

/** The words of what a schema says nothing of itself; for `safeParse(value, { error })`. */
export function issueWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}`;
    case "too_big":
      return sizeWords(issue, "big", String(issue.maximum));
    case "too_small":
      return issue.origin === "string" && issue.minimum === 1
        ? "is empty"
        : sizeWords(issue, "small", String(issue.minimum));
    case "invalid_format":
      return FORMATS[issue.format] ?? "has not the form that is wanted";
    case "invalid_value":
      if (issue.input === undefined) return "is missing";
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return "is not known here";
    case "invalid_key":
      return "has a name that does not fit";
    case "not_multiple_of":
    case "invalid_union":
    case "invalid_element":
    case "custom":
      return "does not fit";
  }
}

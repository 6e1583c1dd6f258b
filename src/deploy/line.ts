// One line that a deploy says: the same words on a terminal and in CI, with how loud they are where that can be shown.

/** One line. */
export interface Line {
  readonly level: "info" | "notice" | "warning" | "error";
  readonly text: string;
}

/** What goes as it should. */
export const info = (text: string): Line => ({ level: "info", text });
/** What a reader looks for: closed, open, live. */
export const notice = (text: string): Line => ({ level: "notice", text });
/** What goes otherwise than hoped, and on all the same. */
export const warning = (text: string): Line => ({ level: "warning", text });

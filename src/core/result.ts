// A parse or a decision that can fail answers a value; nothing in the core throws.

/** Either what was asked for, or why not. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** A success. */
export const ok = <T>(value: T): { readonly ok: true; readonly value: T } => ({ ok: true, value });

/** A failure. */
export const fail = <E>(error: E): { readonly ok: false; readonly error: E } => ({ ok: false, error });

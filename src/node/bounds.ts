// Bounds of the host's machinery that the table of numbers does not name yet; all in real milliseconds.

/** How often a condition without an event (a pid, a file that another process writes) is looked at. */
export const LOOK_EVERY_MS = 10;
/** How long a setup script of an image may run. */
export const SETUP_BOUND_MS = 30 * 60_000;
/** How long a tool may take to say its version. */
export const TOOL_BOUND_MS = 10_000;
/** How long another builder of the same image is waited for. */
export const BUILDER_BOUND_MS = 30 * 60_000;
/** The first pause before a workerd that ended by itself is started again, and the longest. */
export const RESTART_FIRST_MS = 250;
export const RESTART_LONGEST_MS = 10_000;
/** The longest a timer can be set for; longer sleeps are taken in parts. */
export const TIMER_LONGEST_MS = 2_147_000_000;

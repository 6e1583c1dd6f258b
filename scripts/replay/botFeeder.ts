// The plan runner of that night: two units at a time, each a coding child and then its review, and the next unit as soon as a
// review has ended. It asks as the runner did, within a second of each ending, and never lets both end at once.

import type { AskAnswer } from "#wire/bot.ts";
import type { BotNight, UnitKind } from "./botNight.ts";
import type { BotSide } from "./botSide.ts";
import { REPO, type Stage } from "./stage.ts";

/** One ask of the feeder: which unit's, and the run whose end it followed on. */
export interface Fed {
  readonly unit: string;
  readonly kind: UnitKind;
  readonly after: string | null;
  readonly answer: AskAnswer;
}

const LANES = 2;

/** The feeder of one night. */
export class Feeder {
  readonly asked: Fed[] = [];
  /** Runs that it has seen end. */
  ended = 0;
  readonly #stage: Stage;
  readonly #side: BotSide;
  readonly #night: BotNight;
  #units = 0;
  #isOver = false;
  #turn: Promise<unknown> = Promise.resolve();
  #lanes: Promise<unknown> = Promise.resolve();

  constructor(stage: Stage, side: BotSide, night: BotNight) {
    this.#stage = stage;
    this.#side = side;
    this.#night = night;
  }

  /** Begins; its lanes go on until they are told to stop. */
  begin(): void {
    this.#lanes = Promise.all(Array.from({ length: LANES }, () => this.#lane()));
    this.#lanes.catch(() => undefined);
  }

  /** Waits until so many of its runs have ended. */
  async untilEnded(count: number): Promise<void> {
    await this.#stage.finds(`${count} units have ended`, () => (this.ended >= count ? true : undefined), 30);
  }

  /** Does something while none of its runs ends. */
  aside<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** Asks for nothing more; resolves once all of it has ended. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#lanes;
  }

  /** One of its runs that is at work. */
  atWork(): Fed {
    const found = this.asked.findLast(({ answer: { id } }) => this.#lastState(id) === "running");
    if (found === undefined) throw new Error("none of the feeder's runs is at work");
    return found;
  }

  #lastState(id: string): string | undefined {
    return this.#side.cards.findLast(({ card }) => card.id === id)?.card.state;
  }

  async #lane(): Promise<void> {
    let fed = await this.aside(() => this.#ask("coding", `${(this.#units += 1)}`, null));
    for (;;) {
      const { kind, unit, answer } = fed;
      await this.#side.until(answer.id, "running");
      await this.#stage.clock.sleep(this.#night[kind]);
      const next = kind === "coding" ? unit : null;
      const asked = await this.aside(() => this.#endAndAsk(fed, next));
      if (asked === null) return;
      fed = asked;
    }
  }

  /** Ends one, and asks for what comes next: in one turn, so that the other lane's run goes on meanwhile. */
  async #endAndAsk({ kind, unit, answer }: Fed, reviewed: string | null): Promise<Fed | null> {
    this.#stage.give(`unit-${unit}-${kind}`);
    await this.#side.until(answer.id, "ended");
    this.ended += 1;
    if (this.#isOver) return null;
    return reviewed === null
      ? this.#ask("coding", `${(this.#units += 1)}`, answer.id)
      : this.#ask("review", reviewed, answer.id);
  }

  /** Asks, and waits until the run is at work or is known to wait. */
  async #ask(kind: UnitKind, unit: string, after: string | null): Promise<Fed> {
    const cue = this.#stage.cueFile(`unit-${unit}-${kind}`);
    const text = [
      `echo unit ${unit}, ${kind}`,
      `until [ -e '${cue}' ]; do sleep 0.05; done`,
      `[ ! -e "$TIDEGATE_INBOX" ] || cat "$TIDEGATE_INBOX"`,
    ].join("; ");
    const body = {
      key: `plan/${unit}/${kind}/1`,
      resource: REPO,
      text,
      kind,
      channel: "plan",
      by: "the plan runner",
    } as const;
    const answer = await this.#side.again(() => this.#side.bot.ask(body));
    const fed = { unit, kind, after, answer };
    this.asked.push(fed);
    if (answer.card.state !== "queued") await this.#side.until(answer.id, "running", "queued");
    return fed;
  }
}

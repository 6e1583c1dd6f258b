// The ledger: asks, runs, what was said, what became of them. One object; each method is a shell over one piece.

import { DurableObject } from "cloudflare:workers";
import type { Scope } from "#core/scopes.ts";
import type * as wire from "#wire/ledger.ts";
import type { LedgerLook } from "#wire/ledgerLook.ts";
import type { WordsAnswer, WordsBody } from "#wire/ledgerWords.ts";
import * as asking from "./asking.ts";
import { cardsOf } from "./cards.ts";
import { heardOf } from "./heard.ts";
import { historyOf } from "./history.ts";
import { answered, type Ledger } from "./ledgerParts.ts";
import { outputsOf } from "./outputs.ts";
import type { Answer, LedgerPort } from "./port.ts";
import * as reading from "./reading.ts";
import { receiptsOf } from "./receipts.ts";
import { rootOf, type Env } from "./root.ts";
import * as running from "./running.ts";
import { entryStorage } from "./store.ts";

/** The one ledger (protocol.md, "The bot's door"). */
export class LedgerDO extends DurableObject<Env> implements LedgerPort {
  readonly #ledger: Ledger;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    const { sql } = state.storage;
    const root = rootOf(env, "ledger");
    const entries = entryStorage(state.storage);
    this.#ledger = {
      root,
      entries,
      history: historyOf(sql),
      outputs: outputsOf(sql),
      cards: cardsOf(sql),
      heard: heardOf(sql),
      receipts: receiptsOf(sql),
    };
    entries.begin(env.BOOT, root.now());
    root.log("info", "boot");
    const unreadable = entries.unreadable();
    if (unreadable.length > 0)
      root.log("error", "entries that this build cannot read stand until an admin ends them", { unreadable });
  }

  #answer<T>(work: (ledger: Ledger) => T): Answer<T> {
    return Promise.resolve(answered(this.#ledger, () => work(this.#ledger)));
  }

  begin(by: string): Answer<wire.GenerationAnswer> {
    return this.#answer((ledger) => asking.begin(ledger, by));
  }

  ask(body: wire.LedgerAskBody): Answer<wire.LedgerAskAnswer> {
    return this.#answer((ledger) => asking.ask(ledger, body));
  }

  dispatch(body: wire.DispatchBody): Answer<wire.DispatchAnswer> {
    return this.#answer((ledger) => asking.dispatch(ledger, body));
  }

  giveBack(body: wire.ReturnBody): Answer<wire.ReturnAnswer> {
    return this.#answer((ledger) => asking.giveBack(ledger, body));
  }

  progress(body: wire.ProgressBody): Answer<wire.EntryAnswer> {
    return this.#answer((ledger) => running.progress(ledger, body));
  }

  output(body: wire.OutputBody): Answer<wire.OutputAnswer> {
    return this.#answer((ledger) => running.output(ledger, body));
  }

  heartbeat(generation: number): Answer<wire.HeldAnswer> {
    return this.#answer((ledger) => running.heartbeat(ledger, generation));
  }

  handOff(generation: number, since?: number): Answer<wire.HeldAnswer> {
    return this.#answer((ledger) => running.handOff(ledger, generation, since));
  }

  reclaim(generation: number): Answer<wire.ReclaimAnswer> {
    return this.#answer((ledger) => running.reclaim(ledger, generation));
  }

  say(body: wire.LedgerMessageBody): Answer<wire.LedgerMessageAnswer> {
    return this.#answer((ledger) => asking.say(ledger, body));
  }

  end(body: wire.EndBody, scope: Scope): Answer<wire.EndAnswer> {
    return this.#answer((ledger) => running.end(ledger, body, scope));
  }

  note(body: wire.NoteBody): Answer<wire.Done> {
    return this.#answer((ledger) => running.note(ledger, body));
  }

  told(body: wire.ToldBody): Answer<wire.Done> {
    return this.#answer((ledger) => running.told(ledger, body));
  }

  words(body: WordsBody): Answer<WordsAnswer> {
    return this.#answer((ledger) => running.words(ledger, body));
  }

  entries(): Answer<wire.LedgerEntries> {
    return this.#answer(reading.entries);
  }

  look(): Answer<LedgerLook> {
    return this.#answer(reading.look);
  }

  history(query: wire.HistoryQuery): Answer<wire.History> {
    return this.#answer((ledger) => reading.history(ledger, query));
  }

  run(id: string): Answer<wire.LedgerRun> {
    return this.#answer((ledger) => reading.run(ledger, id));
  }

  outputFrom(query: wire.OutputQuery): Answer<wire.OutputPart> {
    return this.#answer((ledger) => reading.outputFrom(ledger, query));
  }

  card(body: wire.CardBody): Answer<wire.CardAnswer> {
    return this.#answer((ledger) => running.card(ledger, body));
  }

  cards(query: wire.CardQuery): Answer<wire.CardPage> {
    return this.#answer((ledger) => ({ now: ledger.root.now(), cards: ledger.cards.page(query) }));
  }

  keepReceipt(receipt: wire.KeptReceipt): Answer<wire.Done> {
    return this.#answer((ledger) => {
      ledger.receipts.keep(receipt);
      return { now: ledger.root.now() };
    });
  }

  receipts(query: wire.ReceiptQuery): Answer<wire.Receipts> {
    return this.#answer((ledger) => ({ now: ledger.root.now(), receipts: ledger.receipts.list(query) }));
  }
}

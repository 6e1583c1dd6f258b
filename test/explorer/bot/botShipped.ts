// The functions under exploration: the very ones that the ledger, the bot and the registry import. A knock-out hands the
// explorer another function in one place of this object, so no guard has an off switch in the product.

import * as card from "#core/card.ts";
import * as door from "#core/door.ts";
import * as drain from "#core/drain.ts";
import * as hold from "#core/hold.ts";
import * as ledger from "#core/ledger.ts";
import * as look from "#core/look.ts";
import * as resident from "#core/resident.ts";
import { ORDER } from "./order.ts";

/**
 * What ships, and the bot's own order beside it. The bot's copy and the registry's book are judged by the same two
 * functions, each in its own place here.
 */
export const SHIPPED_BOT = {
  askStep: ledger.askStep,
  dispatchStep: ledger.dispatchStep,
  endRunStep: ledger.endRunStep,
  generationStep: ledger.generationStep,
  handOffStep: ledger.handOffStep,
  heartbeatStep: ledger.heartbeatStep,
  isFenced: ledger.isFenced,
  ledgerBootStep: ledger.ledgerBootStep,
  messageStep: ledger.messageStep,
  progressStep: ledger.progressStep,
  reclaimStep: ledger.reclaimStep,
  returnStep: ledger.returnStep,
  toldStep: ledger.toldStep,
  undelivered: ledger.undelivered,
  doorOf: door.doorOf,
  passesChild: door.passesChild,
  metOf: door.metOf,
  nextOpening: door.nextOpening,
  settleCopy: door.settleCopy,
  copyBefore: door.copyBefore,
  copyDrain: drain.decideDrain,
  copyLift: drain.decideLift,
  decideDrain: drain.decideDrain,
  decideLift: drain.decideLift,
  settle: drain.settle,
  pulseMinutes: drain.pulseMinutes,
  beginReconcile: hold.beginReconcile,
  noteReport: hold.noteReport,
  decideLook: look.decideLook,
  touchStep: resident.touchStep,
  mayStartIn: resident.mayStartIn,
  cardWords: card.cardWords,
  ...ORDER,
};

export type BotCore = typeof SHIPPED_BOT;

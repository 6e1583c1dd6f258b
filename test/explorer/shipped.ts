// The functions under exploration: the very ones that the fleet and the deploy runner import. A knock-out hands the
// explorer another function in one place of this object, so no guard has an off switch in the product.

import * as cycle from "#core/cycle.ts";
import * as drain from "#core/drain.ts";
import * as gate from "#core/gate.ts";
import * as hold from "#core/hold.ts";
import * as look from "#core/look.ts";
import * as quiet from "#core/quiet.ts";
import * as reconcile from "#core/reconcile.ts";
import * as registration from "#core/registration.ts";
import * as release from "#core/release.ts";
import * as resident from "#core/resident.ts";
import * as rollout from "#core/rollout.ts";
import * as rolloutState from "#core/rolloutState.ts";
import * as seal from "#core/seal.ts";
import * as wait from "#core/wait.ts";

/** What ships. */
export const SHIPPED = {
  cycleOf: cycle.cycleOf,
  nextCycle: cycle.nextCycle,
  decideDrain: drain.decideDrain,
  decideLift: drain.decideLift,
  liveDrains: drain.liveDrains,
  mayUpload: drain.mayUpload,
  pulseMinutes: drain.pulseMinutes,
  settle: drain.settle,
  unreadableDrains: drain.unreadableDrains,
  attachOf: gate.attachOf,
  nextAttach: gate.nextAttach,
  beginReconcile: hold.beginReconcile,
  dropHold: hold.dropHold,
  noteReport: hold.noteReport,
  decideLook: look.decideLook,
  applyWord: quiet.applyWord,
  countLook: quiet.countLook,
  isQuiet: quiet.isQuiet,
  registeredUntil: quiet.registeredUntil,
  sumOf: quiet.sumOf,
  wordOf: quiet.wordOf,
  dueEntries: reconcile.dueEntries,
  noteAsked: reconcile.noteAsked,
  noteImage: reconcile.noteImage,
  noteWord: reconcile.noteWord,
  reconcileOf: reconcile.reconcileOf,
  leaseSpent: registration.leaseSpent,
  nextRelease: release.nextRelease,
  releaseOf: release.releaseOf,
  admitStep: resident.admitStep,
  arriveStep: resident.arriveStep,
  bootStep: resident.bootStep,
  cycledStep: resident.cycledStep,
  cycleStep: resident.cycleStep,
  endStep: resident.endStep,
  rowStep: resident.rowStep,
  sealStep: resident.sealStep,
  toldStep: resident.toldStep,
  touchStep: resident.touchStep,
  unsealStep: resident.unsealStep,
  deployOf: rolloutState.deployOf,
  nextDeploy: rollout.nextDeploy,
  abandonSeal: seal.abandonSeal,
  beginSeal: seal.beginSeal,
  finishSeal: seal.finishSeal,
  nextSeal: seal.nextSeal,
  sealOf: seal.sealOf,
  nextWait: wait.nextWait,
  waitOf: wait.waitOf,
  waitedOf: wait.waitedOf,
  wakeWait: wait.wakeWait,
};

export type Core = typeof SHIPPED;

// Everything that can happen behind a swap, over the functions that ship: holds and their ends, containers and their
// restarts, explored to the end of each world.

import { REOPENINGS } from "./reopenings.ts";
import { explore } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import { testWorlds } from "./worldTests.ts";

/** What the issue lists as steps: each must have been taken somewhere, or the worlds explore less than they claim. */
const TELLING: readonly RegExp[] = [
  /reconciles a1: begun, 2 held$/,
  /reconciles a1: begun, 2 held, and its answer is lost$/,
  /reconciles a1: begun, 1 held$/,
  /reconciles a1: again$/,
  /reconciles a1: over$/,
  /reconciles a1: notServed$/,
  /reconciles a1: no answer/,
  /a late request arrives: reconcile a1: begun/,
  /a late request arrives: reconcile a1: over/,
  /gives its reconcile up at the cycle bound/,
  /lifts a1 \(upload landed\): lifted, 2 held/,
  /lifts a1 \(upload landed\): lifted$/,
  /lifts a1 \(upload landed\): deferred/,
  /lifts a1 \(upload landed\): already/,
  /isolate restart of the registry/,
  /isolate restart of R1/,
  /R1 is asked to bring its container onto new/,
  /R1 answers the reconcile of a1: restarted$/,
  /R1 answers the reconcile of a1: current$/,
  /R1 answers the reconcile of a1: deferred$/,
  /R1 answers the reconcile of a1: inactive$/,
  /R1 answers the reconcile of a1: stale$/,
  /R1 answers the reconcile of a1: error$/,
  /R1 answers the reconcile of a1: restarted, and the answer is lost/,
  /the registry waits no longer for R1/,
  /R1 may restart its container/,
  /R1 may not restart its container/,
  /the container of R1 is restarted: new runs then/,
  /the container of R1 is restarted: old runs then/,
  /the container of R1 is restarted: none runs then/,
  /the restart of R1 fails/,
  /the restart of R1 is given up, and goes on/,
  /the restart of R1 for which nobody waits is carried out/,
  /the container of R1 rolls by itself onto old/,
  /the container of R1 rolls by itself onto new/,
  /R1 looks after its container by itself/,
  /R1 reports image new: its hold falls/,
  /R1 reports image old$/,
  /the report of R1 is lost, image new/,
  /a report of R1 arrives late, image new: its hold falls/,
  /a report of R1 arrives late, image old$/,
  /a person releases the hold of R1/,
  /r1 comes to the container: old, which it asks to be restarted/,
  /r1 comes to the container: old$/,
  /r1 looks: closed/,
  /an administrator releases r1/,
  /rebuild looks: open/,
  /rebuild renews the container/,
  /rebuild may not renew the container/,
  /the workspace of rebuild is ready/,
  /deploy B asks for its drain b1: created/,
  /deploy B reconciles b1: begun/,
  /R1 is asked to bring its container onto newer \(b1\)/,
  /R1 answers the reconcile of b1: restarted/,
  /the registry cannot be read any more/,
  /min pass to the next end/,
];

testWorlds((world, limits) => explore(SHIPPED, world, limits), REOPENINGS, TELLING);

// The few pieces of markdown that the generated documents are made of.

/** The first lines of a generated document. */
export function opening(title: string, says: string): string {
  return `# ${title}\n\n<!-- Made from the code by \`npm run docs\`; a test fails when it differs. -->\n\n${says.trim()}\n`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** A table; an empty one says so instead. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "None.\n";
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return `${[line(heads), `|${heads.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n")}\n`;
}

/** Sections under one another, a blank line between. */
export function page(...parts: readonly string[]): string {
  return `${parts.map((part) => part.trim()).join("\n\n")}\n`;
}

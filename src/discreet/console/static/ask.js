// What the Ask page needs of its editor and NiceGUI does not give: names of tables and columns while typing, the page's
// colours, a mark on what is refused, and names that are put in with a click.
import * as CM from "nicegui-codemirror";

const KEYWORDS = (
  "SELECT FROM WHERE GROUP BY ORDER BY HAVING LIMIT JOIN LEFT JOIN INNER JOIN ON USING AS AND OR NOT IN BETWEEN LIKE " +
  "IS NULL CASE WHEN THEN ELSE END CAST DISTINCT UNION ALL WITH ASC DESC FILTER"
).match(/(?:GROUP BY|ORDER BY|LEFT JOIN|INNER JOIN|UNION ALL|\w+)/g);

const setMark = CM.StateEffect.define();
const marks = CM.StateField.define({
  create: () => CM.Decoration.none,
  update(set, change) {
    set = set.map(change.changes);
    for (const effect of change.effects) {
      if (effect.is(setMark)) set = effect.value;
    }
    return set;
  },
  provide: (field) => CM.EditorView.decorations.from(field),
});

function column(each) {
  return { label: each.name, apply: each.insert, type: "property", detail: each.detail, boost: 2 };
}

function completed(known) {
  const keywords = KEYWORDS.map((word) => ({ label: word, type: "keyword" }));
  const functions = known.functions.map((name) => ({ label: name, apply: `${name}(`, type: "function", detail: "( )" }));
  const tables = known.tables.map((each) => ({
    label: each.name, apply: each.insert, type: "class", detail: each.detail, boost: 1,
  }));
  return (context) => {
    const inside = CM.syntaxTree(context.state).resolveInner(context.pos, -1).name;
    if (inside === "String" || inside.endsWith("Comment")) return null;
    const dotted = context.matchBefore(/\w+\.\w*/);
    if (dotted) {
      const table = known.tables.find((each) => each.name === dotted.text.split(".")[0]);
      const from = dotted.from + dotted.text.indexOf(".") + 1;
      return table ? { from, options: table.columns.map(column), validFor: /^\w*$/ } : null;
    }
    const word = context.matchBefore(/\w+/);
    if (!word && !context.explicit) return null;
    const text = context.state.doc.toString();
    const named = known.tables.filter((each) => text.includes(each.name));
    const seen = new Set();
    const columns = (named.length ? named : known.tables)
      .flatMap((each) => each.columns)
      .filter((each) => !seen.has(each.name) && seen.add(each.name));
    const options = [...columns.map(column), ...tables, ...functions, ...keywords];
    return { from: word ? word.from : context.pos, options, validFor: /^\w*$/ };
  };
}

let view = null;

async function dress(host) {
  const part = window.getElement?.(host.id.slice(1));
  if (!part?.editor) return false;
  view = part.editor;
  const data = [{ autocomplete: completed(JSON.parse(host.dataset.names)) }]; // one, because it is known by identity
  view.dispatch({
    effects: CM.StateEffect.appendConfig.of([
      marks,
      CM.EditorState.languageData.of(() => data),
      CM.EditorView.contentAttributes.of({
        "aria-label": "SQL", "aria-multiline": "true", spellcheck: "false", autocapitalize: "off",
      }),
    ]),
  });
  view.setTabFocusMode?.(true); // Tab leaves the editor, as it leaves every other field
  const paint = () => part.setTheme(document.body.classList.contains("body--dark") ? "githubDark" : "githubLight");
  paint();
  new MutationObserver(paint).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  const language = await CM.languages.find((each) => each.name === "PostgreSQL").load();
  view.dispatch({ effects: part.languageConfig.reconfigure([language.language]) });
  host.dataset.ready = "true";
  return true;
}

(function look() {
  const host = document.querySelector("[data-names]");
  if (host) dress(host).then((done) => done || setTimeout(look, 30));
  else setTimeout(look, 30);
})();

// Mark a part of the text, unless somebody has typed on since the server looked at it.
window.discreetMark = (text, from, to) => {
  if (!view || !view.state.field(marks, false)) return;
  if (from === null) {
    view.dispatch({ effects: setMark.of(CM.Decoration.none) });
    return;
  }
  if (view.state.doc.toString() !== text) return;
  const unit = (index) => Array.from(text).slice(0, index).join("").length; // Python counts characters, we halves
  const [start, end] = [unit(from), unit(to)];
  if (start >= end) return;
  const mark = CM.Decoration.mark({ class: "d-wrong-part" }).range(start, end);
  view.dispatch({ effects: setMark.of(CM.Decoration.set([mark])) });
};

function insert(name) {
  const { from, to } = view.state.selection.main;
  const before = view.state.sliceDoc(Math.max(0, from - 1), from);
  const text = /[\w",*)]/.test(before) ? ` ${name}` : name;
  view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length }, userEvent: "input" });
  view.focus();
}

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = Object.assign(document.createElement("textarea"), { value: text, className: "d-away" });
  document.body.append(field); // without TLS, browsers have no clipboard for pages of other machines
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async (event) => {
  const name = event.target.closest?.("[data-insert]");
  if (name && view) insert(name.dataset.insert);
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const link = `${location.origin}/ask?sql=${encodeURIComponent(view ? view.state.doc.toString() : "")}`;
  const text = button.dataset.copy === "link" ? link : document.getElementById(button.dataset.copy)?.textContent;
  try {
    await copy(text ?? "");
    button.dataset.copied = "true";
    setTimeout(() => delete button.dataset.copied, 1500);
  } catch {
    // the browser does not let pages copy: the text can still be selected
  }
});

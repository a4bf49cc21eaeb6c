  // The limits and partitions of a kind, asked for when they are opened. The element stays while the task is painted anew.
  let limitsShown = null;
  const limitsOf = (name) => {
    if (limitsShown?.dataset.key === name) return limitsShown;
    const inside = el("div"), fault = el("p.is-bad", { role: "status" });
    const text = ({ scope, byHand: it, code }) => (scope === "each" ? "each partition: " : "all jobs: ") + (it ? `${it.text}, by ${it.by || "hand"}${it.reason && ": " + it.reason}; in the code ${code?.text || "none"}` : code.text);
    const row = (it) => el("tr", cell("Partition", null, it.partition || "–"), cell("Due", null, String(it.due)), cell("Running", null, String(it.running)), cell("Opens", null, it.opensAt ? time(it.opensAt, until(it.opensAt, storeNow()), localOf(it.opensAt)) : "–"), cell("Pause", null, it.pause ? pausedText(it) + " " : "", mayAct() && button(it.pause ? "Resume" : "Pause", () => show(ask(path(name) + "/partitions/" + (it.pause ? "resume" : "pause"), { partition: it.partition })))));
    const show = async (answer) => {
      try {
        const { limits, partitions } = await answer;
        set(fault, "");
        fill(inside, el("ul", limits.map((it) => el("li", text(it)))), mayAct() && form, partitions.length > 0 && tableOf("partitions", "Partitions with the most due jobs", ["Partition", "Due", "Running", "Opens", "Pause"], partitions.map(row)));
      } catch (error) { set(fault, "✖ " + reached(error)); }
    };
    const change = (body) => show(ask(path(name) + "/limit", body));
    const input = (name, label, props) => el("label", el("span.label", label), " ", el("input", { name, id: "limit-" + name, size: 8, ...props })), number = { type: "number", min: 1 };
    const form = el("form.filter", { autocomplete: "off", on: { submit: (event) => {
      halt(event);
      change(Object.fromEntries([...new FormData(form)].filter(([, it]) => it).map(([key, it]) => [key, key in { running: 1, burst: 1, waiting: 1 } ? Number(it) : it])));
    } } }, el("label", el("span.label", "Of"), " ", el("select", { name: "scope", id: "limit-scope" }, el("option", { value: "all" }, "all jobs"), el("option", { value: "each" }, "each partition"))),
    input("running", "Running", number), input("rate", "Rate", { placeholder: "100/1m" }), input("burst", "Burst", number), input("waiting", "Waiting", number), el("label", el("span.label", "Order"), " ", el("select", { name: "ordered", id: "limit-ordered" }, el("option", { value: "" }, "any"), el("option", { value: "go_on" }, "in order"), el("option", { value: "hold" }, "in order; parked holds"))), input("reason", "Why?"), el("button", { id: "limit-set", type: "submit" }, "Set"), button("Reset to the code", () => change({ reset: true, reason: form.elements.reason.value }), { id: "limit-reset" }));
    return limitsShown = el("details.over", { id: "limits", "data-key": name, on: { toggle: () => limitsShown.open && show(ask(path(name) + "/limits")) } }, el("summary", "Limits and partitions"), fault, inside);
  };

// The slider of "What is promised": how often Bob may be right at a price, by Bayes' rule from even odds.
{
  const at = (id) => document.getElementById(id);
  const chance = (price) => 1 / (1 + Math.exp(-price));
  const counted = (p) => (p > 0.99 ? "more than 99" : String(Math.ceil(100 * p - 1e-9)));
  const sentence = (p) =>
    p > 0.99
      ? "At such a limit Bob may become all but sure. Very little is promised to you."
      : p > 0.9
        ? "At such a limit Bob may become quite sure, if he spends all of it on you."
        : p > 0.6
          ? "Bob may come to lean one way, but he cannot be sure."
          : "Bob may hardly do better than with his coin.";

  const draw = (price) => {
    const p = chance(price), ten = chance(10 * price), filled = Math.ceil(100 * Math.min(p, 0.99) - 1e-9);
    at("p-shown").textContent = String(Math.round(100 * price) / 100);
    at("p-count").textContent = counted(p);
    at("p-ten").textContent = ten > 0.99 ? counted(ten) : `up to ${counted(ten)}`;
    at("p-said").textContent = sentence(p);
    at("p-after").setAttribute("aria-label", `${counted(p)} of 100 dots are filled`);
    [...at("p-after").children].forEach((dot, place) => {
      dot.className = place < filled ? "p-on" : p > 0.99 && place === filled ? "p-half" : "";
    });
  };
  const back = () => {
    const slider = at("p-price"), real = Number(slider.dataset.real);
    slider.value = String(Math.min(Number.isFinite(real) ? real : 10, 10));
    draw(Number.isFinite(real) ? real : 1000);
    if (!Number.isFinite(real)) at("p-shown").textContent = slider.dataset.real;
    at("p-back").hidden = true;
  };

  document.addEventListener("input", (event) => {
    if (event.target.id !== "p-price") return;
    draw(Number(event.target.value));
    at("p-back").hidden = !at("p-real").textContent;
  });
  document.addEventListener("change", (event) => {
    if (event.target.id !== "p-who") return;
    const chosen = event.target.selectedOptions[0].dataset;
    at("p-price").dataset.real = chosen.price;
    at("p-asks").textContent = chosen.asks;
    at("p-real").textContent = chosen.home;
    at("p-except").textContent = chosen.except;
    at("p-words").textContent = chosen.words;
    back();
  });
  document.addEventListener("click", (event) => {
    if (event.target.id === "p-back") back();
  });
}

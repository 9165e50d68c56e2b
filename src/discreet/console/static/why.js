// The slider of "Why noise": shows what was measured and proved at the price it stands at.
{
  const split = (text) => text.split("|");
  document.addEventListener("input", (event) => {
    const slider = event.target;
    if (slider.id !== "w-price") return;
    const place = Number(slider.value), name = split(slider.dataset.names)[place];
    document.getElementById("w-shown").textContent = name;
    slider.setAttribute("aria-valuetext", name);
    document.getElementById("w-said").textContent = split(slider.dataset.sentences)[place];
    for (const card of document.querySelectorAll(".w-card")) {
      card.querySelector(".w-n").textContent = split(card.dataset.told)[place];
      card.querySelector(".w-limit").textContent = split(card.dataset.limits)[place];
      card.querySelector(".w-found").setAttribute("width", split(card.dataset.found)[place]);
      card.querySelector(".w-most").setAttribute("x", String(split(card.dataset.most)[place] - 1));
    }
  });
}

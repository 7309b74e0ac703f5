// Shows the groups of remarks that the buttons or the fragment of the URL select.
(function () {
  "use strict";
  var buttons = Array.from(document.querySelectorAll("button[data-group]"));
  var names = buttons.map(function (button) { return button.dataset.group; });
  function show(chosen) {
    buttons.forEach(function (button) {
      button.setAttribute("aria-pressed", String(chosen.includes(button.dataset.group)));
    });
    document.querySelectorAll("li[data-group]").forEach(function (entry) {
      entry.hidden = !chosen.includes(entry.dataset.group);
    });
  }
  function pressed() {
    return buttons.filter(function (button) {
      return button.getAttribute("aria-pressed") === "true";
    }).map(function (button) { return button.dataset.group; });
  }
  function fromAddress() {
    var wanted = decodeURIComponent(location.hash.slice(1)).split(",");
    var known = wanted.filter(function (name) { return names.includes(name); });
    if (known.length > 0) {
      show(known);
    }
  }
  buttons.forEach(function (button) {
    button.addEventListener("click", function () {
      var name = button.dataset.group;
      var now = pressed();
      show(now.includes(name) ? now.filter(function (other) { return other !== name; }) : now.concat(name));
    });
  });
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
})();

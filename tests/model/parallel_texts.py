"""Two small documents in four languages."""

TEXTS = {
    "en": """The harbour master closed the old harbour in March.
He said that the harbour wall was too low.
A new wall will cost nine million euros.
The council has not yet decided who will pay for it.
"We cannot wait another winter," the harbour master told the council.
Last winter the sea came over the wall 14 times.

Maria bought a bicycle at the market.
It was red and it had only one brake.
She repaired the brake and rode the bicycle home.
Her brother asked her where she had bought it.
Now he wants a bicycle, too.""",
    "de": """Der Hafenmeister schloss den alten Hafen im März.
Er sagte, die Hafenmauer sei zu niedrig.
Eine neue Mauer wird neun Millionen Euro kosten.
Der Rat hat noch nicht entschieden, wer sie bezahlt.
„Wir können keinen weiteren Winter warten“, sagte der Hafenmeister dem Rat.
Im letzten Winter kam das Meer 14-mal über die Mauer.

Maria kaufte auf dem Markt ein Fahrrad.
Es war rot und hatte nur eine Bremse.
Sie reparierte die Bremse und fuhr mit dem Fahrrad nach Hause.
Ihr Bruder fragte sie, wo sie es gekauft habe.
Jetzt will er auch ein Fahrrad.""",
    "ru": """Начальник порта закрыл старый порт в марте.
Он сказал, что стена порта слишком низкая.
Новая стена будет стоить девять миллионов евро.
Совет ещё не решил, кто за неё заплатит.
«Мы не можем ждать ещё одну зиму», — сказал начальник порта совету.
Прошлой зимой море перехлестнуло через стену 14 раз.

Мария купила на рынке велосипед.
Он был красный, и у него был только один тормоз.
Она починила тормоз и поехала на велосипеде домой.
Брат спросил её, где она его купила.
Теперь он тоже хочет велосипед.""",
    "zh": """港务局长三月关闭了旧港口。
他说港口的围墙太低了。
新的围墙将耗资九百万欧元。
市议会还没有决定由谁来付钱。
“我们不能再等一个冬天了，”港务局长对市议会说。
去年冬天海水14次漫过围墙。

玛丽亚在市场上买了一辆自行车。
它是红色的，而且只有一个刹车。
她修好了刹车，骑着自行车回家了。
她的哥哥问她在哪里买的。
现在他也想要一辆自行车。""",
}
"""Two documents in each language, one sentence per line."""

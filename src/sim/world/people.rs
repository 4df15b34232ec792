//! The people of the videos.

/// Somebody with a name and pronouns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) she: bool,
}

impl Person {
    pub(super) fn he(self) -> &'static str {
        if self.she { "she" } else { "he" }
    }

    pub(super) fn him(self) -> &'static str {
        if self.she { "her" } else { "him" }
    }

    pub(super) fn his(self) -> &'static str {
        if self.she { "her" } else { "his" }
    }
}

const fn she(name: &'static str) -> Person {
    Person { name, she: true }
}

const fn he(name: &'static str) -> Person {
    Person { name, she: false }
}

/// Enough for the default world to use no name twice. No name is also a common word of the scripts.
pub(super) const PEOPLE: [Person; 84] = [
    she("Rosa"),
    he("Marek"),
    she("Ingrid"),
    he("Tomas"),
    she("Amara"),
    he("Jonas"),
    she("Leila"),
    he("Pietro"),
    she("Noor"),
    he("Anton"),
    she("Greta"),
    he("Samir"),
    she("Yuki"),
    he("Bruno"),
    she("Fatou"),
    he("Emil"),
    she("Carmen"),
    he("Dmitri"),
    she("Hanna"),
    he("Kofi"),
    she("Lucia"),
    he("Henrik"),
    she("Priya"),
    he("Matteo"),
    she("Edith"),
    he("Omar"),
    she("Sofia"),
    he("Viktor"),
    she("Maeve"),
    he("Rafael"),
    she("Thandi"),
    he("Lukas"),
    she("Mirela"),
    he("Isak"),
    she("Claire"),
    he("Hassan"),
    she("Paula"),
    he("Stefan"),
    she("Zeynep"),
    he("Arturo"),
    she("Linnea"),
    he("Felix"),
    she("Beatriz"),
    he("Goran"),
    she("Adele"),
    he("Malik"),
    she("Irina"),
    he("Cedric"),
    she("Tamar"),
    he("Oskar"),
    she("Nadia"),
    he("Leon"),
    she("Estelle"),
    he("Ravi"),
    she("Katya"),
    he("Benno"),
    she("Mariam"),
    he("Diego"),
    she("Elin"),
    he("Andrei"),
    she("Josefa"),
    he("Niklas"),
    she("Salma"),
    he("Teo"),
    she("Vera"),
    he("Yusuf"),
    she("Agnes"),
    he("Luca"),
    she("Dalia"),
    he("Sven"),
    she("Renata"),
    he("Idris"),
    she("Magda"),
    he("Pavel"),
    she("Corinne"),
    he("Hugo"),
    she("Aylin"),
    he("Ruben"),
    she("Selma"),
    he("Nuno"),
    she("Kirsten"),
    he("Tariq"),
    she("Odile"),
    he("Jakub"),
];

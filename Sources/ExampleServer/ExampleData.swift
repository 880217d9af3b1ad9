/// What the backends know when they start. It is the same each time.
public enum ExampleData {
    /// A user who can sign in.
    public struct Account: Sendable, Hashable {
        /// The number by which all backends know the user.
        public let id: Int
        /// What Central signs in with.
        public let email: String
        /// What Pins signs in with.
        public let userName: String
        /// The password, for both.
        public let password: String
    }

    /// Ann: friends of all categories, pins, many followers.
    public static let ann = Account(id: 1, email: "ann@example.com", userName: "ann", password: "correct horse")
    /// Ben: some friends.
    public static let ben = Account(id: 2, email: "ben@example.com", userName: "ben", password: "battery staple")
    /// Cleo: nobody yet.
    public static let cleo = Account(id: 3, email: "cleo@example.com", userName: "cleo", password: "paper & clip+1")
    /// All who can sign in.
    public static let accounts = [ann, ben, cleo]

    /// The application token of Social.
    public static let applicationToken = "social-app"
    /// One that may look and change nothing.
    public static let readingApplicationToken = "social-reader"
    /// The API key of Movies.
    public static let apiKey = "movies-key"
    /// The client id of Pins.
    public static let clientID = "pins-app"
    /// Its secret.
    public static let clientSecret = "pins-secret"
    /// The user of Social who shows the list of friends to nobody.
    public static let shyUserID = 4

    struct User: Sendable {
        var id: Int
        var name: String?
        var email: String?
    }

    /// Not all of them have told everything about themselves.
    static let users = [
        User(id: 1, name: "Ann Archer", email: "ann@example.com"),
        User(id: 2, name: "Ben Baker", email: "ben@example.com"),
        User(id: 3, name: "Cleo Cook", email: "cleo@example.com"),
        User(id: 4, name: "Dan Dyer", email: nil),
        User(id: 5, name: nil, email: "eve@example.com"),
        User(id: 6, name: "Finn Fisher", email: "finn@example.com"),
        User(id: 7, name: nil, email: nil),
        User(id: 8, name: "Zoë Żak 🎬", email: "zoe@example.com"),
    ]

    /// By user: the friends, with the category of each.
    static let friends: [Int: [(id: Int, category: String?)]] = [
        1: [(2, "close friends"), (5, "family"), (6, nil), (8, "family")],
        2: [(1, nil), (7, nil)],
    ]

    /// The users of Pins that nobody knows more of than a name; each of them follows Ann.
    static let readers = 101...145
    static let pinTitles = ["A lighthouse", "Bread, at last", "Cats & dogs", "Dovetail joints", "Evening <light>"]
    static let comments = ["Lovely!", "Where is that?", "I want to go there too."]

    static let popularMovies = 45
    static let newMovies = 23
    static let titleBeginnings = ["The Last", "A Quiet", "The Golden", "Seven", "Beyond the", "The Paper", "Under"]
    static let titleEnds = ["Harbour", "Winters", "Orchard", "Cartographers", "Signal", "Tide", "Librarian", "Moons"]
}

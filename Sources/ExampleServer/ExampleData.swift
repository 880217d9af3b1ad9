/// The data that the backends start with. It is the same for every server.
public enum ExampleData {
    /// A user who can sign in.
    public struct Account: Sendable, Hashable {
        /// The number that identifies the user in all backends.
        public let id: Int
        /// The email address, for signing in to Central.
        public let email: String
        /// The user name, for signing in to Pins.
        public let userName: String
        /// The password, for both.
        public let password: String
    }

    /// Ann: friends in all categories, pins, many followers.
    public static let ann = Account(id: 1, email: "ann@example.com", userName: "ann", password: "correct horse")
    /// Ben: a few friends.
    public static let ben = Account(id: 2, email: "ben@example.com", userName: "ben", password: "battery staple")
    /// Cleo: no friends yet.
    public static let cleo = Account(id: 3, email: "cleo@example.com", userName: "cleo", password: "paper & clip+1")
    /// All accounts that can sign in.
    public static let accounts = [ann, ben, cleo]

    /// The application token of Social.
    public static let applicationToken = "social-app"
    /// An application token that may read, but not change anything.
    public static let readingApplicationToken = "social-reader"
    /// The API key of Movies.
    public static let apiKey = "movies-key"
    /// The session of a guest of Movies, who may rate and review films.
    public static let guestSession = "guest-1"
    /// The client id of Pins.
    public static let clientID = "pins-app"
    /// The client secret of Pins.
    public static let clientSecret = "pins-secret"
    /// The address of Pins to which its server leads a browser. Addresses of 127.0.0.1 are accepted, too.
    public static let redirectURI = "com.example.pins:/signed-in"
    /// The user of Social whose list of friends is private.
    public static let shyUserID = 4

    /// Returns the account with that name and password.
    static func account(_ userName: String?, _ password: String?) -> Account? {
        accounts.first { $0.userName == userName && $0.password == password }
    }

    struct User: Sendable {
        var id: Int
        var name: String?
        var email: String?
    }

    /// Some users have no name or no email address.
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

    /// The friends of each user, with their categories.
    static let friends: [Int: [(id: Int, category: String?)]] = [
        1: [(2, "close friends"), (5, "family"), (6, nil), (8, "family")],
        2: [(1, nil), (7, nil)],
    ]

    /// Users of Pins that have only a name; each of them follows Ann.
    static let readers = 101...145
    static let pinTitles = ["A lighthouse", "Bread, at last", "Cats & dogs", "Dovetail joints", "Evening <light>"]
    static let comments = ["Lovely!", "Where is that?", "I want to go there too."]

    static let popularMovies = 45
    static let newMovies = 23
    static let titleBeginnings = ["The Last", "A Quiet", "The Golden", "Seven", "Beyond the", "The Paper", "Under"]
    static let titleEnds = ["Harbour", "Winters", "Orchard", "Cartographers", "Signal", "Tide", "Librarian", "Moons"]
}

/// The names that the samples of a page use beside those that the page itself and Getting Started declare.
///
/// This list is the only place for them. A type, an endpoint or a function in it is one that a reader has to guess, so
/// a page should declare it, or say which page does. Values such as a name, or a client of another server, need no
/// declaration.
struct PageNames {
    /// The pages whose declarations the page refers to.
    var pages: [String] = []
    /// A value in each line, with its type. A line that begins with `var` can be changed; other declarations are whole.
    var names: String

    init(of pages: [String] = [], _ names: String = "") {
        (self.pages, self.names) = (pages, names)
    }

    /// What Getting Started says of all pages.
    static let everywhere = PageNames(
        """
        client: APIClient
        id: Int
        key: String
        login: APIClient
        name: String
        network: ScriptedTransport
        oauth: OAuth
        password: String
        secret: String
        text: String
        tokens: TokenStore
        @Sendable func show(_ items: Any?...) {}
        """)

    /// The pages for which the samples need modules that do not exist on Linux, or are no part of this package.
    static let excluded: Set<String> = ["ApplePlatforms.md", "ExampleServices.md", "LogsMetricsAndTraces.md"]

    static let pages: [String: PageNames] = [
        "Authentication.md": PageNames(
            """
            access: String
            expiry: Date
            limiter: RateLimiter
            refresh: String
            token: Token
            user: User
            """),
        "Caching.md": PageNames(
            """
            cache: HTTPCache
            """),
        "CancellationAndTime.md": PageNames(
            """
            feed: APIClient
            me: User
            users: APIClient
            extension Endpoint where Response == [User] { static func users(named: String) -> Self { given() } }
            """),
        "ComingFromElsewhere.md": PageNames(
            of: ["Authentication.md"],
            """
            latest: LatestOnly
            """),
        "Concurrency.md": PageNames(
            """
            ids: [Int]
            names: [String]
            total: Int
            @Sendable func visit(_ id: Int) async {}
            """),
        "Cookbook.md": PageNames(
            of: ["Authentication.md", "ReadingLists.md", "Testing.md"],
            """
            access: String
            friends: [User]
            isTrial: Bool
            now: Instant
            path: String
            paths: [String]
            png: Data
            token: String
            var films: [Film]
            """),
        "Cookies.md": PageNames(
            """
            jar: CookieJar
            """),
        "CreatingRequests.md": PageNames(
            """
            age: Int
            page: Int
            """),
        "DownloadingFiles.md": PageNames(
            """
            published: String
            """),
        "EncodingAndDecoding.md": PageNames(
            """
            data: Data
            kept: [User]
            tag: String
            value: JSONValue
            """),
        "Errand.md": PageNames(
            """
            me: User
            """),
        "Fleet.md": PageNames(
            """
            store: any FleetStore
            func MyFleetStore(_ address: String) -> any FleetStore { given() }
            """),
        "HandlingErrors.md": PageNames(
            """
            func mark(_ field: String, _ text: String) {}
            """),
        "InACommandLineTool.md": PageNames(
            """
            home: String
            isVerbose: Bool
            place: String
            """),
        "LoopbackServer.md": PageNames(
            """
            server: LoopbackServer
            """),
        "OnAServer.md": PageNames(
            of: ["Authentication.md"],
            """
            authorization: String
            origin: APIClient
            """),
        "README.md": PageNames(
            """
            me: User
            func show(message: String) {}
            """),
        "ReadingLists.md": PageNames(
            """
            byNumber: Paging<FilmPage>
            reply: Reply<[User]>
            var more: PagePosition?
            var saved: PagePosition
            """),
        "SendingFiles.md": PageNames(
            """
            export: Export
            origin: APIClient
            photo: RequestBody
            storage: APIClient
            thumbnail: Data
            struct Export: Sendable { var rows: HTTPBody.Chunks { given() } }
            struct Place: Encodable, Sendable { var name: String; var latitude: Double }
            """),
        "Sessions.md": PageNames(
            of: ["Authentication.md"],
            """
            device: Int
            func showSignIn(_ text: String) {}
            """),
        "SharingLimits.md": PageNames(
            """
            fleet: Fleet
            store: any FleetStore
            """),
        "SigningIn.md": PageNames(
            """
            address: String
            archive: Data
            clock: TestClock
            browser: SystemBrowser
            rejection: Rejection
            token: Token
            func AppBrowser(redirectURI: String) -> SystemBrowser { given() }
            """),
        "StreamsAndEvents.md": PageNames(
            """
            var isLive: Bool
            var messages: [Message]
            """),
        "Testing.md": PageNames(
            of: ["Authentication.md"],
            """
            clock: TestClock
            server: LoopbackServer
            struct FriendList { var client: APIClient; func names(of id: Int) async throws -> [String] { given() } }
            """),
        "Transport.md": PageNames(
            """
            server: String
            transport: CurlTransport
            func MyTransport() -> any Transport { given() }
            func show(_ count: Int, of total: Int?) {}
            """),
    ]
}

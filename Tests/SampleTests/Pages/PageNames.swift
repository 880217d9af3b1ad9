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
        login: APIClient
        tokens: TokenStore
        network: ScriptedTransport
        @Sendable func show(_ items: Any?...) {}
        """)

    /// The pages for which the samples need modules that do not exist on Linux, or are no part of this package.
    static let excluded: Set<String> = ["ApplePlatforms.md", "ExampleServices.md", "LogsMetricsAndTraces.md"]

    static let pages: [String: PageNames] = [
        "Authentication.md": PageNames(
            """
            access: String
            device: Int
            expiry: Date
            key: String
            limiter: RateLimiter
            name: String
            oauth: OAuth
            password: String
            refresh: String
            secret: String
            token: Token
            user: User
            func showSignIn(_ text: String) {}
            """),
        "Caching.md": PageNames(
            """
            cache: HTTPCache
            friends: Endpoint<[User]>
            me: User
            profile: JSONValue
            query: UserQuery
            signedURL: String
            struct UserQuery: Encodable, Sendable { var name: String }
            """),
        "CancellationAndTime.md": PageNames(
            """
            feed: APIClient
            id: Int
            me: User
            text: String
            users: APIClient
            extension Endpoint where Response == [User] { static func users(named: String) -> Self { given() } }
            """),
        "ComingFromElsewhere.md": PageNames(
            of: ["Authentication.md"],
            """
            id: Int
            latest: LatestOnly
            text: String
            """),
        "Cookbook.md": PageNames(
            of: ["Authentication.md", "ReadingLists.md", "Testing.md"],
            """
            access: String
            browser: SystemBrowser
            byNumber: Paging<FilmPage>
            events: AsyncStream<ClientEvent>
            friends: [User]
            headers: HTTPHeaders
            id: Int
            isTrial: Bool
            key: String
            latest: LatestOnly
            name: String
            now: Instant
            oauth: OAuth
            password: String
            path: String
            paths: [String]
            png: Data
            text: String
            token: String
            var films: [Film]
            var more: PagePosition?
            func advice(on error: ServiceError) -> String? { given() }
            func mark(_ field: String, _ text: String) {}
            """),
        "Concurrency.md": PageNames(
            """
            ids: [Int]
            names: [String]
            total: Int
            @Sendable func visit(_ id: Int) async {}
            """),
        "Cookies.md": PageNames(
            """
            jar: CookieJar
            """),
        "CreatingRequests.md": PageNames(
            """
            age: Int
            id: Int
            key: String
            name: String
            page: Int
            """),
        "DownloadingFiles.md": PageNames(
            """
            published: String
            """),
        "EncodingAndDecoding.md": PageNames(
            """
            data: Data
            id: Int
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
            oauth: OAuth
            password: String
            secret: String
            store: any FleetStore
            func MyFleetStore(_ address: String) -> any FleetStore { given() }
            """),
        "HandlingErrors.md": PageNames(
            """
            events: AsyncStream<ClientEvent>
            func mark(_ field: String, _ text: String) {}
            """),
        "InACommandLineTool.md": PageNames(
            """
            home: String
            isVerbose: Bool
            place: String
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
        "RateLimiting.md": PageNames(
            """
            name: String
            """),
        "ReadingLists.md": PageNames(
            """
            byNumber: Paging<FilmPage>
            id: Int
            reply: Reply<[User]>
            var more: PagePosition?
            var saved: PagePosition
            """),
        "ReceivingEvents.md": PageNames(
            """
            var isLive: Bool
            var messages: [Message]
            var problem: String?
            struct Message: Decodable, Sendable { var text: String }
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
            oauth: OAuth
            rejection: Rejection
            secret: String
            token: Token
            func AppBrowser(redirectURI: String) -> SystemBrowser { given() }
            func showSession(_ address: String, _ scheme: String) async throws -> String { given() }
            """),
        "Testing.md": PageNames(
            of: ["Authentication.md"],
            """
            clock: TestClock
            server: LoopbackServer
            shop: Shop
            actor Shop { var orders: [String] { given() } }
            struct FriendList { var client: APIClient; func names(of id: Int) async throws -> [String] { given() } }
            func MyTransport() -> any Transport { given() }
            """),
        "Transports.md": PageNames(
            """
            server: String
            transport: CurlTransport
            func show(_ count: Int, of total: Int?) {}
            """),
    ]
}
